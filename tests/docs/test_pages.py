# SPDX-License-Identifier: Apache-2.0
"""What counts as a command of a page."""
import unittest

import pages

PAGE = """# Page
```sh
./check --quick     # a comment
cmake --preset dev && \\
  cmake --build --preset dev

```

    kubectl apply -f job.yaml

```
roundhouse run job.yaml
```

    {"not": "a command"}

```text
$ kubectl get pods
```

Use `roundhouse lint -o json \\| jq` or `roundhouse.ini`.
"""


class Pages(unittest.TestCase):
    def test_pages__commands(self):
        self.assertEqual(list(pages.commands(PAGE)), [(3, "./check --quick"),
                                                      (5, "cmake --preset dev && cmake --build --preset dev")])

    def test_pages__strays(self):
        self.assertEqual(list(pages.strays(PAGE)), [(9, "kubectl apply -f job.yaml"), (12, "roundhouse run job.yaml")])

    def test_pages__mentions(self):
        self.assertEqual(list(pages.mentions(PAGE)), [(21, ["lint", "-o", "json"])])


if __name__ == "__main__":
    unittest.main()
