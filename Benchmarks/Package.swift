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
    .systemLibrary(name: "CLibPQ", providers: [.apt(["libpq-dev"])]),
    .target(name: "CHash"),
    .target(name: "CBlock"),
    .target(name: "Locks", swiftSettings: everyTarget),
    .target(
      name: "StorageEngine", dependencies: ["Locks", "CHash", "CBlock"], exclude: ["FORMAT.md"],
      swiftSettings: everyTarget),
    .target(name: "Documents", exclude: ["make-normal-form-table.py"], swiftSettings: everyTarget),
    .target(name: "Expressions", dependencies: ["Documents"], swiftSettings: everyTarget),
    .target(
      name: "DatastoreModel", dependencies: ["Locks", "StorageEngine", "Documents", "Expressions"],
      swiftSettings: everyTarget),
    .target(
      name: "FolderStore", dependencies: ["Locks", "DatastoreModel", "Documents", "Expressions"],
      swiftSettings: everyTarget),
    .target(
      name: "Exchange", dependencies: ["DatastoreModel", "Documents", "StorageEngine"], swiftSettings: everyTarget),
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
      name: "Entities", dependencies: ["CodableDatastore", "Documents"],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(
      name: "Atlas", dependencies: ["CodableDatastore", "Entities"], exclude: ["Resources"],
      swiftSettings: everyTarget),
    .target(
      name: "PostgresStore", dependencies: ["StorageEngine", "CLibPQ"], exclude: ["INTERFACE.md"],
      swiftSettings: everyTarget),
    .target(
      name: "PostgresPersistence",
      dependencies: ["CodableDatastore", "DatastoreModel", "StorageEngine", "PostgresStore"],
      swiftSettings: everyTarget + [.define("PostgreSQL"), .enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(name: "Measuring", swiftSettings: everyTarget),
    // Counts what is asked of the allocator.
    .target(name: "CAllocations"),
    .executableTarget(
      name: "EngineBench", dependencies: ["Measuring", "StorageEngine", "CAllocations", "CLMDB", "CSQLite"],
      swiftSettings: everyTarget),
    .executableTarget(
      name: "ServerBench", dependencies: ["Measuring", "CLibPQ", "CodableDatastore", "PostgresPersistence"],
      swiftSettings: everyTarget),
    .executableTarget(name: "VerbBench", dependencies: ["Measuring"], swiftSettings: everyTarget),
    .executableTarget(
      name: "ExchangeBench",
      dependencies: ["Measuring", "DatastoreModel", "Documents", "Exchange", "Expressions", "StorageEngine"],
      swiftSettings: everyTarget),
    .executableTarget(
      name: "TypedBench",
      dependencies: [
        "Measuring", "Atlas", "CAllocations", "CSQLite", "CodableDatastore", "DatastoreModel", "Documents",
        "StorageEngine",
      ],
      swiftSettings: everyTarget + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
  ],
  swiftLanguageModes: [.v6]
)
