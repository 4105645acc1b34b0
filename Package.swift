// swift-tools-version: 6.2
import PackageDescription

// The arrows of the house. A module may import what its line names and nothing else:
//
//   StrataLocks, CStrataHash, CStrataBlock ← StrataEngine ← StrataModel ← StrataFolders ← CodableDatastore ← StoreEntities ← StrataAtlas
//   StrataDocuments ← StrataExpressions ←     ↑  ← StrataExchange ← CodableDatastore
//          StrataTerminal ← StoreBrowser (its embedding also → StrataCurses)
//    CStrataCurses ← StrataCurses ← strata → everything
//   StrataSystem and StrataFoundation are the C library and Foundation: every module may import them, but StrataEngine no Foundation.
//    CStrataLibPQ ← StrataPostgres → StrataEngine;  PostgresPersistence → StrataPostgres, CodableDatastore, StrataExchange
//
// The names of targets are global among packages. All but the libraries that an app imports have a prefix, so that an app can have a
// target `Documents` of its own.
let everyTarget: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Loads libpq when a server is first asked: linking would have each start of the program pay for it and all that it needs. Where an
// app brings all of its code along, there is no libpq.
let postgresStore = Target.Dependency.target(
  name: "StrataPostgres", condition: .when(platforms: [.linux, .macOS], traits: ["PostgreSQL"]))

let programDependencies: [Target.Dependency] = [
  "StrataSystem", "StrataFoundation", "StrataLocks", "StrataEngine", "StrataDocuments", "StrataExpressions",
  "StrataModel", "StrataExchange", "CodableDatastore", "StrataFolders",
  "StrataTerminal", "StrataCurses", "StoreBrowser", "StrataAtlas", "StoreEntities",
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
    .library(name: "StoreEntities", targets: ["StoreEntities"]),
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
    .target(name: "CStrataHash"),
    .target(name: "CStrataBlock"),
    .target(name: "CStrataLibPQ"),
    .target(name: "StrataLocks", swiftSettings: everyTarget),
    .target(name: "StrataSystem", swiftSettings: everyTarget),
    .target(name: "StrataFoundation", swiftSettings: everyTarget),
    .target(
      name: "StrataEngine", dependencies: ["StrataSystem", "StrataLocks", "CStrataHash", "CStrataBlock"],
      exclude: ["FORMAT.md"],
      swiftSettings: everyTarget),
    .target(
      name: "StrataPostgres", dependencies: ["StrataSystem", "StrataLocks", "StrataEngine", "CStrataLibPQ"],
      exclude: ["INTERFACE.md"],
      swiftSettings: everyTarget),
    // The typed library on a server: the one product that needs libpq, and nothing where the trait is off.
    .target(
      name: "PostgresPersistence",
      dependencies: [
        "StrataFoundation", "CodableDatastore", "StrataModel", "StrataDocuments", "StrataExchange", "StrataEngine",
        postgresStore,
      ],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(name: "StrataDocuments", exclude: ["make-normal-form-table.py"], swiftSettings: everyTarget),
    .target(name: "StrataExpressions", dependencies: ["StrataSystem", "StrataDocuments"], swiftSettings: everyTarget),
    .target(
      name: "StrataModel",
      dependencies: [
        "StrataSystem", "StrataFoundation", "StrataLocks", "StrataEngine", "StrataDocuments", "StrataExpressions",
      ],
      swiftSettings: everyTarget),
    .target(
      name: "CodableDatastore",
      dependencies: [
        "StrataSystem", "StrataFoundation", "StrataLocks", "StrataModel", "StrataDocuments", "StrataExchange",
        "StrataExpressions", "StrataFolders",
        "StrataEngine",
      ],
      swiftSettings: everyTarget + [
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    .target(
      name: "StrataExchange",
      dependencies: [
        "StrataSystem", "StrataFoundation", "StrataLocks", "StrataModel", "StrataDocuments", "StrataEngine",
      ],
      swiftSettings: everyTarget),
    .target(
      name: "StrataFolders",
      dependencies: ["StrataSystem", "StrataFoundation", "StrataLocks", "StrataModel", "StrataDocuments"],
      swiftSettings: everyTarget
    ),
    .target(
      name: "StrataTerminal", dependencies: ["StrataSystem", "StrataLocks"], exclude: ["Text/make-width-table.py"],
      swiftSettings: everyTarget),
    .target(
      name: "CStrataCurses",
      linkerSettings: [
        .linkedLibrary("ncursesw", .when(platforms: [.linux])), .linkedLibrary("tinfo", .when(platforms: [.linux])),
        .linkedLibrary("ncurses", .when(platforms: [.macOS])),
      ]),
    .target(
      name: "StrataCurses", dependencies: ["StrataSystem", "StrataTerminal", "CStrataCurses"],
      swiftSettings: everyTarget),
    .target(
      name: "StoreBrowser",
      dependencies: [
        "StrataSystem", "StrataFoundation", "StrataLocks", "StrataTerminal", "StrataModel", "StrataDocuments",
        "StrataExchange", "StrataExpressions", "StrataCurses",
      ],
      swiftSettings: everyTarget),
    .target(
      name: "StoreEntities", dependencies: ["StrataFoundation", "CodableDatastore", "StrataDocuments"],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(
      name: "StrataAtlas", dependencies: ["StrataSystem", "StrataFoundation", "CodableDatastore", "StoreEntities"],
      exclude: ["Resources"],
      swiftSettings: everyTarget),
    .executableTarget(
      name: "strata",
      dependencies: programDependencies,
      swiftSettings: everyTarget),
    .testTarget(
      name: "StrataEngineTests",
      dependencies: ["StrataLocks", "StrataEngine", "CStrataHash", "CStrataBlock", "DiskSimulation"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "StrataPostgresTests", dependencies: ["StrataLocks", "StrataPostgres", "StrataEngine", linuxCalls],
      swiftSettings: everyTarget),
    // The suites of the typed library once more, on a server, by links to their files.
    .testTarget(
      name: "PostgresPersistenceTests",
      dependencies: [
        "StrataLocks", "PostgresPersistence", "StrataPostgres", "CodableDatastore", "StoreEntities", "StrataModel",
        "StrataDocuments", "StrataExchange", "StrataExpressions", "StrataEngine", linuxCalls,
      ],
      swiftSettings: everyTarget),
    .testTarget(name: "StrataDocumentsTests", dependencies: ["StrataDocuments"], swiftSettings: everyTarget),
    .testTarget(
      name: "StrataExpressionsTests", dependencies: ["StrataExpressions", "StrataDocuments"], swiftSettings: everyTarget
    ),
    .testTarget(
      name: "StrataModelTests",
      dependencies: [
        "StrataLocks", "StrataModel", "StrataDocuments", "StrataExpressions", "StrataEngine", "DiskSimulation",
      ],
      swiftSettings: everyTarget),
    .testTarget(
      name: "CodableDatastoreTests",
      dependencies: ["StrataLocks", "CodableDatastore", "StrataModel", "StrataDocuments", "StrataEngine"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "StoreEntitiesTests", dependencies: ["StrataAtlas", "StoreEntities", "CodableDatastore"],
      swiftSettings: everyTarget),
    .testTarget(
      name: "StrataExchangeTests",
      dependencies: [
        "StrataLocks", "StrataExchange", "StrataModel", "StrataDocuments", "StrataExpressions", "StrataEngine",
      ],
      swiftSettings: everyTarget),
    .testTarget(
      name: "StrataFoldersTests",
      dependencies: ["StrataLocks", "StrataFolders", "CodableDatastore", "StrataDocuments", "StrataEngine"],
      swiftSettings: everyTarget),
    .testTarget(name: "StrataTerminalTests", dependencies: ["StrataTerminal"], swiftSettings: everyTarget),
    .testTarget(
      name: "StoreBrowserTests",
      dependencies: [
        "StrataLocks", "StoreBrowser", "StrataModel", "StrataDocuments", "StrataExchange", "StrataExpressions",
        "StrataEngine",
        "StrataTerminal",
      ],
      exclude: ["Snapshots"], swiftSettings: everyTarget),
    .testTarget(
      name: "StrataTests",
      dependencies: [
        "StrataLocks", "StrataAtlas", "CodableDatastore", "StrataModel", "DiskSimulation", "StrataDocuments",
        "StrataEngine",
        "StoreBrowser", "strata", linuxCalls,
      ],
      exclude: ["Jobs"], swiftSettings: everyTarget),
    .target(name: "PseudoTerminal", path: "Tests/PseudoTerminal"),
    // The simulated disk of the crash tests.
    .target(
      name: "DiskSimulation", dependencies: ["StrataLocks", "StrataEngine"], path: "Tests/DiskSimulation",
      swiftSettings: everyTarget),
    .executableTarget(
      name: "terminal-card", dependencies: ["StrataCurses", "StrataTerminal"], path: "Tests/TestCard",
      swiftSettings: everyTarget),
    .testTarget(
      name: "TerminalTests",
      dependencies: [
        "StrataLocks", "CStrataCurses", "strata", "terminal-card", "StrataModel", "StrataDocuments", "StrataEngine",
        "StoreBrowser",
        "StrataTerminal",
        "PseudoTerminal",
      ],
      swiftSettings: everyTarget),
  ],
  swiftLanguageModes: [.v6]
)

// `STRATA_PART=StrataEngineTests,StrataDocumentsTests` leaves those test targets and what they need: a developer who changes one module, and
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

// `STRATA_OPTIMIZED=1` compiles with optimisation, also in a debug build, the modules in which the tests spend most of their time. A debug
// build keeps its checks and shows the tests what is internal. To optimise the rest takes the compiler longer than it saves. A module is
// compiled as a whole, because its files one by one take the optimiser more than twice as long.
if Context.environment["STRATA_OPTIMIZED"] != nil {
  let optimized: Set = [
    "CStrataHash", "CStrataBlock", "StrataLocks", "StrataEngine", "StrataDocuments", "StrataModel", "CodableDatastore",
    "StrataTerminal", "DiskSimulation",
  ]
  for target in package.targets where optimized.contains(target.name) {
    target.swiftSettings =
      (target.swiftSettings ?? []) + [
        .unsafeFlags(["-O", "-whole-module-optimization", "-num-threads", "2"])
      ]
    target.cSettings = (target.cSettings ?? []) + [.unsafeFlags(["-O2"])]
  }
}

// `STRATA_SMALL=1`, which the Makefile sets for the program, compiles for size the modules in which a person or a network sets the pace.
if Context.environment["STRATA_SMALL"] != nil {
  let small: Set = [
    "StrataFolders", "StrataPostgres", "PostgresPersistence", "StrataExchange", "CodableDatastore", "StoreEntities",
    "StrataAtlas", "StrataCurses", "StoreBrowser", "strata",
  ]
  for target in package.targets where small.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Osize"])]
  }
}
