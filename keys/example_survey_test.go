package keys_test

import (
	"fmt"

	"github.com/belfry-go/belfry/keys"
)

// The same event gives the same hash, however often it is told.
func ExampleRecipeHash() {
	fmt.Println(keys.RecipeHash(
		keys.RecipeSlot{Path: "templateId", Value: "4523"},
		keys.RecipeSlot{Path: "recipient.address", Value: "+964 770 000 0001"},
		keys.RecipeSlot{Path: "candidate.dealerId", Value: "1"},
		keys.RecipeSlot{Path: "candidate.wip", Value: "40956"},
	))
	// Output: 6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa <nil>
}

func ExampleSurveyInstance() {
	hash, _ := keys.RecipeHash(keys.RecipeSlot{Path: "candidate.wip", Value: "40956"})
	fmt.Println(keys.SurveyInstance{Survey: 4523, Trigger: "csi-gr-trigger", Hash: hash}.Key())
	// Output: survey:4523:csi-gr-trigger:51bbfd1a3239fa739423b4897d893369008f3823f1b93264d50ab39fde5be7f0 <nil>
}

func ExampleLinkKey() {
	key := keys.NewLinkKey([]byte("0123456789abcdef0123456789abcdef"))
	first := key.Token("8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00")
	reminder := key.Token("8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00")
	fmt.Println(key.ID(), len(first), first == reminder)
	// Output: jxkzt4n2 40 true
}
