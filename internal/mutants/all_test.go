package mutants

import "slices"

// all are the deliberate faults.
var all = slices.Concat(
	keysMutants, storageMutants, adapterMutants, workMutants, automationMutants, automationhttpMutants,
	campaignMutants, channelMutants, convergeMutants, gateMutants, healthMutants, mendMutants,
	notifyMutants, outboxMutants, ownershipMutants, proofMutants, providerMutants, reconcileMutants,
	recurringMutants, reportMutants, settingsMutants, supportMutants, surveyBoundMutants, surveyConfigMutants, surveyHostMutants,
	surveyIngestMutants, surveyMendMutants, surveyResponseMutants, surveySendMutants, surveyhttpMutants, thresholdMutants,
	trackerMutants,
)
