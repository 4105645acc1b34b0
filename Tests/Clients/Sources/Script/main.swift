import CodableDatastore
import Foundation

// A script: nothing in it is async.

struct City: Codable, Identifiable {
  var id: Int
  var name: String
  var population: Int
}

struct CityFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case one = 1 }
  typealias Instance = City
  static let defaultKey: DatastoreKey = "Cities"
  static let currentVersion = Version.one
  let population = Index(\.population)
}

let url = FileManager.default.temporaryDirectory.appending(path: "Script-\(UUID().uuidString).strata")
defer { try? FileManager.default.removeItem(at: url) }

let store = try DiskPersistence(readWriteURL: url).blocking
try store.perform(actionName: "two cities") {
  let cities = try store.datastore(CityFormat.self)
  try cities.persist(City(id: 1, name: "Bern", population: 134_000))
  try cities.persist(City(id: 2, name: "Zug", population: 30_000))
}
try store.close()

let cities = try DiskPersistence(readOnlyURL: url).blocking.datastore(CityFormat.self)
for city in try cities.load(100_000..., from: \.population) { print("Script: \(city.name)") }
let small = try cities.load(where: #Predicate { $0.population < 100_000 }).all
precondition(small.map(\.name) == ["Zug"])
