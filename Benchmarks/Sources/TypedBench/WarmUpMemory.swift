import StrataAtlas
import CodableDatastore
import Measuring
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a warm-up of five indexes takes beyond what was open: memory of the process's own, not pages of the mapped file.
struct WarmUpMemory {
  let cities: [City]
  let folder: URL

  func run(count: Int) async throws {
    let url = folder.appending(path: "memory.strata")
    try await fill(url, count)
    let persistence = try DiskPersistence(readWriteURL: url)
    let store = FiveIndexes.datastore(in: persistence)
    let before = anonymousMemory()
    let watch = MemoryWatch()
    let start = seconds()
    try await store.warm()
    let took = seconds() - start
    let most = watch.end()
    try await persistence.close()
    try FileManager.default.removeItem(at: url)
    print("| Memory | Measured | To reach |")
    print("|---|---|---|")
    let taken = fixed(Double(most - min(most, before)) / 1e6, digits: 1)
    print(
      "| warm-up of five indexes over \(count) records, beyond what was open | \(taken) MB (\(fixed(took, digits: 1)) s) | ≤ 64 MB |"
    )
  }

  /// In transactions of 10,000, so that what is measured was not needed before.
  private func fill(_ url: URL, _ count: Int) async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    let store = NoIndex.datastore(in: persistence)
    for first in stride(from: 0, to: count, by: 10_000) {
      try await persistence.perform {
        for number in first..<min(first + 10_000, count) {
          var city = cities[number % cities.count]
          city.geonameid = number
          try await store.persist(city)
        }
      }
    }
    try await persistence.close()
  }
}

struct FiveIndexes: CityStore {
  typealias Instance = City
  static let defaultKey: DatastoreKey = "City"
  static let currentVersion = BenchVersion.only

  let name = Index(\.name)
  let country = Index(\.countrycode)
  let population = Index(\.population)
  let latitude = Index(\.latitude)
  let longitude = Index(\.longitude)
}

/// Looks every few milliseconds what memory the process has of its own.
final class MemoryWatch: Sendable {
  private let most = Atomic<UInt64>(0)
  private let isDone = Atomic(false)
  private let thread = Mutex<BenchThread?>(nil)

  init() {
    thread.withLock { $0 = BenchThread { self.look() } }
  }

  private func look() {
    while !isDone.load(ordering: .relaxed) {
      most.store(max(most.load(ordering: .relaxed), anonymousMemory()), ordering: .relaxed)
      pause(milliseconds: 5)
    }
  }

  func end() -> UInt64 {
    isDone.store(true, ordering: .relaxed)
    thread.withLock { $0?.join() }
    return max(most.load(ordering: .relaxed), anonymousMemory())
  }
}
