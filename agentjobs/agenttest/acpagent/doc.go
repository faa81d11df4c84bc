// Command acpagent is an agent for tests: it speaks the Agent Client Protocol on
// its standard streams and does what the prompt says, line by line, where a real
// agent would ask a model. It stands for an agent that works, that fails, and that
// was turned against the one who runs it.
//
// The lines that it knows; paths are relative to the session's directory, and \n in
// a text stands for a line's end. Any other line is said back.
//
//	say TEXT              a message
//	think TEXT            a thought
//	plan TEXT             a plan of one entry
//	write PATH TEXT       the file holds the text and a line's end
//	append PATH TEXT
//	delete PATH           also a directory with all that it holds
//	link PATH TARGET      a symbolic link
//	mkdir PATH            with its parents, as write makes them
//	run ARGV...           a program, its arguments split at spaces; says its output
//	shell COMMAND         the same by sh -c
//	env NAME              says a variable of the environment
//	model TEXT            asks the model at $FOOTFALL_MODEL_URL, says the answer
//	http URL              says the status of a GET, or the error
//	current-model         says the model that was set
//	remember TEXT         in the session, which lies in $HOME/.acpagent
//	recall                says what was remembered
//	ask-permission PATH   to edit the file; says the answer
//	read-file PATH        by the client's file system; says the error
//	terminal              by the client; says the error
//	usage INPUT OUTPUT    the tokens that the turn reports
//	stop REASON           ends the turn, with the protocol's reason
//	refuse                stop refusal
//	fail MESSAGE          ends the turn with an error
//	exit CODE             ends the process
//	wait-cancel           until the turn is cancelled
//	hang                  for ever, cancelled or not
//	flood N               N messages of one letter, as fast as it can
//	stdout-bytes N        N bytes of lines that are no messages
//	long-line N           N bytes without a line's end
//	stderr-bytes N
//	spam-line             a line that is no JSON
//
// The flags are explained by -help.
package main
