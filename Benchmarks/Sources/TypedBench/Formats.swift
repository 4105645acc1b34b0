import StrataAtlas
import CodableDatastore
import FoundationEssentials

/// Cities without any index, with two, and with three.
struct NoIndex: CityStore {
  typealias Instance = City
  static let defaultKey: DatastoreKey = "City"
  static let currentVersion = BenchVersion.only
}

struct TwoIndexes: CityStore {
  typealias Instance = City
  static let defaultKey: DatastoreKey = "City"
  static let currentVersion = BenchVersion.only

  let name = Index(\.name)
  let country = Index(\.countrycode)
}

struct ThreeIndexes: CityStore {
  typealias Instance = City
  static let defaultKey: DatastoreKey = "City"
  static let currentVersion = BenchVersion.only

  let name = Index(\.name)
  let country = Index(\.countrycode)
  let population = Index(\.population)
}

struct CoveringIndexes: CityStore {
  typealias Instance = City
  static let defaultKey: DatastoreKey = "City"
  static let currentVersion = BenchVersion.only

  let country = Index(\.countrycode)
  let countryAndSize = Index(\.countrycode, including: \.population)
}

enum BenchVersion: Int, CaseIterable, Sendable { case only = 1 }

protocol CityStore: DatastoreFormat where Version == BenchVersion, Instance == City, Identifier == Int {}

extension CityStore {
  static func datastore(in persistence: DiskPersistence<ReadWrite>) -> CodableDatastore.Datastore<Self, ReadWrite> {
    persistence.datastore(Self.self)
  }
}
