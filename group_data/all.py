"""What holds for every host of this site."""

# Where the wheels come from; unset: where the package client of the node looks by default.
# wheel_index = {"url": "https://wheels.example.net/simple", "ca_file": "/etc/ssl/certs/site.pem"}
