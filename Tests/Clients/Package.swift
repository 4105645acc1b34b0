// swift-tools-version: 6.2
import PackageDescription

// The same program as four clients: Swift 6 and Swift 5 mode, with and without `NonisolatedNonsendingByDefault`. What it
// uses is the public surface of the original library, so that it compiles unchanged is the test; running it checks what
// overloads were chosen.
let package = Package(
  name: "Clients",
  platforms: [.macOS(.v26)],
  dependencies: [.package(name: "Strata", path: "../..")],
  targets: [
    client("SixClient", mode: .v6, features: []),
    client("SixNonsendingClient", mode: .v6, features: ["NonisolatedNonsendingByDefault"]),
    client("FiveClient", mode: .v5, features: []),
    client("FiveNonsendingClient", mode: .v5, features: ["NonisolatedNonsendingByDefault"]),
  ]
)

func client(_ name: String, mode: SwiftLanguageMode, features: [String]) -> Target {
  .executableTarget(
    name: name, dependencies: [.product(name: "CodableDatastore", package: "Strata")],
    swiftSettings: [.swiftLanguageMode(mode)] + features.map { .enableUpcomingFeature($0) })
}
