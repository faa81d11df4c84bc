package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// setModel chooses the model where the agent offers it. An agent that does not, or
// that fails to, has its model from its preset, and the gate lets no other pass.
func (r *run) setModel(ctx context.Context, s *session, models *acp.SessionModelState, options []acp.SessionConfigOption) error {
	if r.options.Model == "" {
		return nil
	}
	var err error
	if id, value, ok := modelOption(options, r.options.Model); ok {
		_, err = call[acp.SetSessionConfigOptionResponse](ctx, r, acp.AgentMethodSessionSetConfigOption,
			acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{
				SessionId: acp.SessionId(s.id), ConfigId: id, Value: value,
			}})
	} else if id, ok := offeredModel(models, r.options.Model); ok {
		_, err = call[acp.UnstableSetSessionModelResponse](ctx, r, acp.AgentMethodSessionSetModel,
			acp.UnstableSetSessionModelRequest{SessionId: acp.SessionId(s.id), ModelId: id})
	}
	var refused *Error
	if errors.As(err, &refused) {
		r.options.Logger.Info("the agent did not take the model", "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("setting the model: %w", err)
	}
	return nil
}

// isModel says whether an agent's name of a model means the one that is wanted.
// Agents put their provider's name before it.
func isModel(name, model string) bool { return name == model || strings.HasSuffix(name, "/"+model) }

// modelOption finds the setting for the model, and its value for the one that is
// wanted, unless it has that already.
func modelOption(options []acp.SessionConfigOption, model string) (acp.SessionConfigId, acp.SessionConfigValueId, bool) {
	for _, option := range options {
		setting := option.Select
		if setting == nil || setting.Category == nil || *setting.Category != acp.SessionConfigOptionCategoryModel {
			continue
		}
		if isModel(string(setting.CurrentValue), model) {
			return "", "", false
		}
		for _, value := range values(setting.Options) {
			if isModel(string(value.Value), model) {
				return setting.Id, value.Value, true
			}
		}
	}
	return "", "", false
}

func values(options acp.SessionConfigSelectOptions) []acp.SessionConfigSelectOption {
	if options.Ungrouped != nil {
		return *options.Ungrouped
	}
	if options.Grouped == nil {
		return nil
	}
	var all [][]acp.SessionConfigSelectOption
	for _, group := range *options.Grouped {
		all = append(all, group.Options)
	}
	return slices.Concat(all...)
}

// offeredModel finds the wanted model among those that are offered, unless it is
// set already.
func offeredModel(models *acp.SessionModelState, model string) (acp.UnstableModelId, bool) {
	if models == nil || isModel(string(models.CurrentModelId), model) {
		return "", false
	}
	for _, offered := range models.AvailableModels {
		if isModel(string(offered.ModelId), model) {
			return acp.UnstableModelId(offered.ModelId), true
		}
	}
	return "", false
}
