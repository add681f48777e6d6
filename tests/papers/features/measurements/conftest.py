from measure.conftest import lost as lost, outcome_of as outcome_of, pointing as pointing
