// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the main one needs neither LMDB nor SQLite. The modules of the main package are taken
// by links to their folders: they are compiled here as parts of one package, and so may be measured from inside.
let everyTarget: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "StrataBenchmarks",
  targets: [
    .systemLibrary(name: "CLMDB", providers: [.apt(["liblmdb-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CStrataLibPQ", providers: [.apt(["libpq-dev"])]),
    .target(name: "CStrataHash"),
    .target(name: "CStrataBlock"),
    .target(name: "StrataSystem", swiftSettings: everyTarget),
    .target(name: "StrataFoundation", swiftSettings: everyTarget),
    .target(name: "StrataLocks", swiftSettings: everyTarget),
    .target(
      name: "StrataEngine", dependencies: ["StrataSystem", "StrataLocks", "CStrataHash", "CStrataBlock"],
      exclude: ["FORMAT.md"], swiftSettings: everyTarget),
    .target(name: "StrataDocuments", exclude: ["make-normal-form-table.py"], swiftSettings: everyTarget),
    .target(name: "StrataExpressions", dependencies: ["StrataSystem", "StrataDocuments"], swiftSettings: everyTarget),
    .target(
      name: "StrataModel",
      dependencies: ["StrataFoundation", "StrataLocks", "StrataEngine", "StrataDocuments", "StrataExpressions"],
      swiftSettings: everyTarget),
    .target(
      name: "StrataFolders", dependencies: ["StrataLocks", "StrataModel", "StrataDocuments", "StrataExpressions"],
      swiftSettings: everyTarget),
    .target(
      name: "StrataExchange", dependencies: ["StrataModel", "StrataDocuments", "StrataEngine"],
      swiftSettings: everyTarget),
    .target(
      name: "CodableDatastore",
      dependencies: [
        "StrataLocks", "StrataModel", "StrataDocuments", "StrataExchange", "StrataExpressions", "StrataFolders",
        "StrataEngine",
      ],
      swiftSettings: everyTarget + [
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    .target(
      name: "StoreEntities", dependencies: ["CodableDatastore", "StrataDocuments"],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(
      name: "StrataAtlas", dependencies: ["CodableDatastore", "StoreEntities"], exclude: ["Resources"],
      swiftSettings: everyTarget),
    .target(
      name: "StrataPostgres", dependencies: ["StrataEngine", "CStrataLibPQ"], exclude: ["INTERFACE.md"],
      swiftSettings: everyTarget),
    .target(
      name: "PostgresPersistence",
      dependencies: ["CodableDatastore", "StrataModel", "StrataEngine", "StrataPostgres"],
      swiftSettings: everyTarget + [.define("PostgreSQL"), .enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(name: "Measuring", swiftSettings: everyTarget),
    // Counts what is asked of the allocator.
    .target(name: "CAllocations"),
    .executableTarget(
      name: "EngineBench", dependencies: ["Measuring", "StrataEngine", "CAllocations", "CLMDB", "CSQLite"],
      swiftSettings: everyTarget),
    .executableTarget(
      name: "ServerBench", dependencies: ["Measuring", "CStrataLibPQ", "CodableDatastore", "PostgresPersistence"],
      swiftSettings: everyTarget),
    .executableTarget(name: "VerbBench", dependencies: ["Measuring"], swiftSettings: everyTarget),
    .executableTarget(
      name: "ExchangeBench",
      dependencies: [
        "Measuring", "StrataModel", "StrataDocuments", "StrataExchange", "StrataExpressions", "StrataEngine",
      ],
      swiftSettings: everyTarget),
    .executableTarget(
      name: "TypedBench",
      dependencies: [
        "Measuring", "StrataAtlas", "CAllocations", "CSQLite", "CodableDatastore", "StrataModel", "StrataDocuments",
        "StrataEngine",
      ],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
  ],
  swiftLanguageModes: [.v6]
)
