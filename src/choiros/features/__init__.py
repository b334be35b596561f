"""One room per noun of the user: its wishes, its facts, its rules and its views."""
