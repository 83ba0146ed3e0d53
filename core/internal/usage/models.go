package usage

import "slices"

// ModelUsage is the usage of one model in a session.
type ModelUsage struct {
	Model string
	Usage Usage
}

// Count adds an answer to the usage of its model, and returns the list; an answer of no known model
// is left out.
func Count(list []ModelUsage, model string, last Usage) []ModelUsage {
	if model == "" {
		return list
	}
	i := slices.IndexFunc(list, func(m ModelUsage) bool { return m.Model == model })
	if i < 0 {
		i = len(list)
		list = append(list, ModelUsage{Model: model})
	}
	list[i].Usage = list[i].Usage.Add(last)
	return list
}
