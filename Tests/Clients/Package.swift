// swift-tools-version: 6.2
import PackageDescription

// The same program as four clients: Swift 6 and Swift 5 mode, with and without `NonisolatedNonsendingByDefault`. What it
// uses is the public surface of the original library and what apps make of it, so that it compiles unchanged is the test; running
// it checks what overloads were chosen. Beside it stand apps of other kinds.
let package = Package(
  name: "Clients",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Strata", path: "../.."), .package(path: "../../Examples/Library")],
  targets: [
    client("SixClient", mode: .v6, features: []),
    client("SixNonsendingClient", mode: .v6, features: ["NonisolatedNonsendingByDefault"]),
    client("FiveClient", mode: .v5, features: []),
    client("FiveNonsendingClient", mode: .v5, features: ["NonisolatedNonsendingByDefault"]),
    // Three apps that were written from the guides alone.
    client("ContactsApp", mode: .v6, features: []),
    client("LedgerServer", mode: .v6, features: []),
    client("JobQueue", mode: .v6, features: ["NonisolatedNonsendingByDefault"]),
    // The model of the example app, with the process of its extension.
    .executableTarget(
      name: "LibraryExample",
      dependencies: [
        .product(name: "LibraryModel", package: "Library"), .product(name: "CodableDatastore", package: "Strata"),
      ]),
    // A script without a line that is async.
    client("Script", mode: .v6, features: []),
    // An app whose code is the main actor's unless it says otherwise, with the features that come with it.
    .executableTarget(
      name: "MainActorClient", dependencies: [.product(name: "CodableDatastore", package: "Strata")],
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .enableUpcomingFeature("InferIsolatedConformances"),
      ]),
  ]
)

func client(_ name: String, mode: SwiftLanguageMode, features: [String]) -> Target {
  .executableTarget(
    name: name, dependencies: [.product(name: "CodableDatastore", package: "Strata")],
    swiftSettings: [.swiftLanguageMode(mode)] + features.map { .enableUpcomingFeature($0) })
}
