package mutants

import "slices"

// all are the deliberate faults.
var all = slices.Concat(
	keysMutants, storageMutants, adapterMutants, workMutants, automationMutants, healthMutants,
	campaignMutants, notifyMutants, outboxMutants, reconcileMutants, settingsMutants, supportMutants, thresholdMutants,
)
