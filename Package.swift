// swift-tools-version: 6.2
import PackageDescription

// The arrows of the house. A module may import what its line names and nothing else:
//
//   Locks, CHash, CBlock ← StorageEngine ← DatastoreModel ← FolderStore ← CodableDatastore ← Entities ← Atlas
//   Documents ← Expressions ←     ↑  ← Exchange ← CodableDatastore
//          TerminalKit ← StoreBrowser (its embedding also → CursesTerminal)
//    CCurses ← CursesTerminal ← strata → everything
//    CLibPQ ← PostgresStore → StorageEngine;  PostgresPersistence → PostgresStore, CodableDatastore, Exchange
let everyTarget: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Loads libpq when a server is first asked: linking would have each start of the program pay for it and all that it needs. Where an
// app brings all of its code along, there is no libpq.
let postgresStore = Target.Dependency.target(
  name: "PostgresStore", condition: .when(platforms: [.linux, .macOS], traits: ["PostgreSQL"]))

let programDependencies: [Target.Dependency] = [
  "Locks", "StorageEngine", "Documents", "Expressions", "DatastoreModel", "Exchange", "CodableDatastore", "FolderStore",
  "TerminalKit", "CursesTerminal", "StoreBrowser", "Atlas", "Entities",
  "PostgresPersistence", postgresStore,
]

// What tests need of Linux and Swift does not import.
let linuxCalls = Target.Dependency.target(name: "PseudoTerminal", condition: .when(platforms: [.linux]))

let package = Package(
  name: "Strata",
  // The first systems that have `Mutex` and `Atomic`.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CodableDatastore", targets: ["CodableDatastore"]),
    .library(name: "Entities", targets: ["Entities"]),
    .library(name: "PostgresPersistence", targets: ["PostgresPersistence"]),
    .library(name: "StoreBrowser", targets: ["StoreBrowser"]),
    .executable(name: "strata", targets: ["strata"]),
  ],
  traits: [
    .default(enabledTraits: ["PostgreSQL"]),
    .trait(
      name: "PostgreSQL", description: "Stores on PostgreSQL, for the program. Needs libpq; the libraries do not."),
  ],
  targets: [
    .target(name: "CHash"),
    .target(name: "CBlock"),
    .target(name: "CLibPQ"),
    .target(name: "Locks", swiftSettings: everyTarget),
    .target(
      name: "StorageEngine", dependencies: ["Locks", "CHash", "CBlock"], exclude: ["FORMAT.md"],
      swiftSettings: everyTarget),
    .target(
      name: "PostgresStore", dependencies: ["Locks", "StorageEngine", "CLibPQ"], exclude: ["INTERFACE.md"],
      swiftSettings: everyTarget),
    // The typed library on a server: the one product that needs libpq, and nothing where the trait is off.
    .target(
      name: "PostgresPersistence",
      dependencies: [
        "CodableDatastore", "DatastoreModel", "Documents", "Exchange", "StorageEngine",
        postgresStore,
      ],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(name: "Documents", exclude: ["make-normal-form-table.py"], swiftSettings: everyTarget),
    .target(name: "Expressions", dependencies: ["Documents"], swiftSettings: everyTarget),
    .target(
      name: "DatastoreModel", dependencies: ["Locks", "StorageEngine", "Documents", "Expressions"],
      swiftSettings: everyTarget),
    .target(
      name: "CodableDatastore",
      dependencies: [
        "Locks", "DatastoreModel", "Documents", "Exchange", "Expressions", "FolderStore", "StorageEngine",
      ],
      swiftSettings: everyTarget + [
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    .target(
      name: "Exchange", dependencies: ["Locks", "DatastoreModel", "Documents", "StorageEngine"],
      swiftSettings: everyTarget),
    .target(name: "FolderStore", dependencies: ["Locks", "DatastoreModel", "Documents"], swiftSettings: everyTarget),
    .target(
      name: "TerminalKit", dependencies: ["Locks"], exclude: ["Text/make-width-table.py"], swiftSettings: everyTarget),
    .target(
      name: "CCurses",
      linkerSettings: [
        .linkedLibrary("ncursesw", .when(platforms: [.linux])), .linkedLibrary("tinfo", .when(platforms: [.linux])),
        .linkedLibrary("ncurses", .when(platforms: [.macOS])),
      ]),
    .target(
      name: "CursesTerminal", dependencies: ["TerminalKit", "CCurses"], swiftSettings: everyTarget),
    .target(
      name: "StoreBrowser",
      dependencies: [
        "Locks", "TerminalKit", "DatastoreModel", "Documents", "Exchange", "Expressions", "CursesTerminal",
      ],
      swiftSettings: everyTarget),
    .target(
      name: "Entities", dependencies: ["CodableDatastore", "Documents"],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(
      name: "Atlas", dependencies: ["CodableDatastore", "Entities"], exclude: ["Resources"],
      swiftSettings: everyTarget),
    .executableTarget(
      name: "strata",
      dependencies: programDependencies,
      swiftSettings: everyTarget),
    .testTarget(
      name: "StorageEngineTests", dependencies: ["Locks", "StorageEngine", "CHash", "CBlock", "DiskSimulation"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "PostgresStoreTests", dependencies: ["Locks", "PostgresStore", "StorageEngine", linuxCalls],
      swiftSettings: everyTarget),
    // The suites of the typed library once more, on a server, by links to their files.
    .testTarget(
      name: "PostgresPersistenceTests",
      dependencies: [
        "Locks", "PostgresPersistence", "PostgresStore", "CodableDatastore", "DatastoreModel", "Documents", "Exchange",
        "Expressions", "StorageEngine", linuxCalls,
      ],
      swiftSettings: everyTarget),
    .testTarget(name: "DocumentsTests", dependencies: ["Documents"], swiftSettings: everyTarget),
    .testTarget(name: "ExpressionsTests", dependencies: ["Expressions", "Documents"], swiftSettings: everyTarget),
    .testTarget(
      name: "DatastoreModelTests",
      dependencies: ["Locks", "DatastoreModel", "Documents", "Expressions", "StorageEngine", "DiskSimulation"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "CodableDatastoreTests",
      dependencies: ["Locks", "CodableDatastore", "DatastoreModel", "Documents", "StorageEngine"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "EntitiesTests", dependencies: ["Atlas", "Entities", "CodableDatastore"], swiftSettings: everyTarget),
    .testTarget(
      name: "ExchangeTests",
      dependencies: ["Locks", "Exchange", "DatastoreModel", "Documents", "Expressions", "StorageEngine"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "FolderStoreTests",
      dependencies: ["Locks", "FolderStore", "CodableDatastore", "Documents", "StorageEngine"],
      swiftSettings: everyTarget),
    .testTarget(name: "TerminalKitTests", dependencies: ["TerminalKit"], swiftSettings: everyTarget),
    .testTarget(
      name: "StoreBrowserTests",
      dependencies: [
        "Locks", "StoreBrowser", "DatastoreModel", "Documents", "Exchange", "Expressions", "StorageEngine",
        "TerminalKit",
      ],
      exclude: ["Snapshots"], swiftSettings: everyTarget),
    .testTarget(
      name: "StrataTests",
      dependencies: [
        "Locks", "Atlas", "CodableDatastore", "DatastoreModel", "DiskSimulation", "Documents", "StorageEngine",
        "StoreBrowser", "strata", linuxCalls,
      ],
      swiftSettings: everyTarget),
    .target(name: "PseudoTerminal", path: "Tests/PseudoTerminal"),
    // The simulated disk of the crash tests.
    .target(
      name: "DiskSimulation", dependencies: ["Locks", "StorageEngine"], path: "Tests/DiskSimulation",
      swiftSettings: everyTarget),
    .executableTarget(
      name: "terminal-card", dependencies: ["CursesTerminal", "TerminalKit"], path: "Tests/TestCard",
      swiftSettings: everyTarget),
    .testTarget(
      name: "TerminalTests",
      dependencies: [
        "Locks", "CCurses", "strata", "terminal-card", "DatastoreModel", "Documents", "StorageEngine", "StoreBrowser",
        "TerminalKit",
        "PseudoTerminal",
      ],
      swiftSettings: everyTarget),
  ],
  swiftLanguageModes: [.v6]
)

// `STRATA_PART=StorageEngineTests,DocumentsTests` leaves those test targets and what they need: a developer who changes one module, and
// a check that has no time to build everything twice more, build no more than that.
if let part = Context.environment["STRATA_PART"] {
  var needed: Set<String> = []
  var waiting = part.split(separator: ",").map(String.init)
  while let name = waiting.popLast() {
    guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
    for dependency in target.dependencies {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): waiting.append(name)
      default: break
      }
    }
  }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products.removeAll()
}
