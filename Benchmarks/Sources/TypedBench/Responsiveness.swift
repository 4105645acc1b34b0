import StrataAtlas
import CodableDatastore
import Measuring
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How long others wait for an executor on which somebody reads or writes in a loop.
struct Responsiveness {
  let cities: [City]
  let folder: URL

  func run() async throws {
    print("| Responsiveness | Measured | To reach |")
    print("|---|---|---|")
    try await stalls()
    try await cost("on the pool")
    try await costOnMainActor()
    try await server()
  }

  // MARK: What it costs

  /// Scans and loads that give way, beside the same on a clock that stands still: they look at no clock and never yield. Passes of
  /// a tenth of a second take turns, so that a slow phase of the machine meets both.
  private func cost(_ place: String) async throws {
    let giving = try await store(slices: .shared, in: folder.appending(path: "giving \(place).strata"))
    let keeping = try await store(slices: TimeSlices { 0 }, in: folder.appending(path: "keeping \(place).strata"))
    var (scans, loads) = ([Double](), [Double]())
    for round in 0..<41 {
      var (scan, load) = ([Bool: Double](), [Bool: Double]())
      for givesWay in round % 2 == 0 ? [true, false] : [false, true] {
        let store = givesWay ? giving : keeping
        let start = processorSeconds()
        for try await city in store.load(...) { sink &+= city.population }
        let middle = processorSeconds()
        for city in cities { sink &+= try await store.load(city.id)?.population ?? 0 }
        scan[givesWay] = middle - start
        load[givesWay] = processorSeconds() - middle
      }
      // The first round warms up.
      guard round > 0 else { continue }
      if let giving = scan[true], let keeping = scan[false] { scans.append(giving / keeping) }
      if let giving = load[true], let keeping = load[false] { loads.append(giving / keeping) }
    }
    printLoss("scans \(place)", scans)
    printLoss("single loads \(place)", loads)
  }

  @MainActor private func costOnMainActor() async throws { try await cost("on the main actor") }

  private func store(slices: TimeSlices, in place: URL) async throws -> Datastore<TwoIndexes, ReadWrite> {
    let persistence = try DiskPersistence(readWriteURL: place, slices: slices)
    let store = TwoIndexes.datastore(in: persistence)
    try await persistence.perform { for city in cities { try await store.persist(city) } }
    return store
  }

  private func printLoss(_ work: String, _ ratios: [Double]) {
    let loss = (Spread(ratios).median - 1) * 100
    print(
      "| what \(work) (\(cities.count) cities) lose by giving way, in processor time, median of \(ratios.count) pairs | \(fixed(loss, digits: 1)) % | ≤ 5 % |"
    )
  }

  // MARK: The main actor

  /// 100,000 records on the main actor, beside a task that wants to run there all the time.
  @MainActor private func stalls() async throws {
    let count = 100_000
    let persistence = try DiskPersistence(readWriteURL: folder.appending(path: "stalls.strata"))
    let store = TwoIndexes.datastore(in: persistence)
    try await store.warm()
    let records = (0..<count).map { number in
      var city = cities[number % cities.count]
      city.geonameid = number
      return city
    }
    let importing = try await longestStall {
      try await persistence.perform { for city in records { try await store.persist(city) } }
    }
    let iterating = try await longestStall { for try await city in store.load(...) { sink &+= city.population } }
    let loading = try await longestStall {
      for number in 0..<count { sink &+= try await store.load(number)?.population ?? 0 }
    }
    // The iterator and its answer are kept until it is measured: to let go of 100,000 instances takes a while too, where the last
    // reference to them is.
    var results = store.live(sortedBy: { $0.name < $1.name }).makeAsyncIterator()
    var answer: [City]?
    let live = try await longestStall { answer = try await results.next(isolation: #isolation) }
    sink &+= answer?.count ?? 0
    let deleting = try await longestStall { sink &+= try await store.delete(range: ..., where: { $0.id % 2 == 0 }) }
    for (work, stall) in [
      ("import in one transaction", importing), ("an iteration", iterating), ("single loads", loading),
      ("a live result, sorted", live), ("a delete of half of them", deleting),
    ] {
      print(
        "| longest stall of the main actor at \(count) records: \(work): by the clock, and in this process's processor time | \(milliseconds(stall.clock)), \(milliseconds(stall.processor)) | ≤ 4 ms |"
      )
    }
    print(
      "| longest gap in two seconds of a loop that only looks at the clock: the machine's own | \(milliseconds(gap())) | – |"
    )
    try await persistence.close()
    try FileManager.default.removeItem(at: folder.appending(path: "stalls.strata"))
  }

  /// The longest time in which another task of the main actor did not come to run there. The clock also counts what a shared host
  /// gives to its other guests; the processor time that all threads of this process took between two turns does not.
  @MainActor private func longestStall(of work: () async throws -> Void) async throws -> Stall {
    let ticker = Ticker()
    let ticking = Task { @MainActor in await ticker.run() }
    // It runs before the work begins.
    while ticker.longest.clock == 0 { await Task.yield() }
    ticker.longest = Stall()
    try await work()
    ticker.isDone = true
    await ticking.value
    return ticker.longest
  }

  private nonisolated func gap() -> Double {
    let begin = seconds()
    var (last, longest) = (begin, 0.0)
    while last - begin < 2 {
      let now = seconds()
      longest = max(longest, now - last)
      last = now
    }
    return longest
  }

  @MainActor private final class Ticker {
    var isDone = false
    var longest = Stall()

    func run() async {
      var last = Stall(clock: seconds(), processor: processorSeconds())
      while !isDone {
        await Task.yield()
        let now = Stall(clock: seconds(), processor: processorSeconds())
        longest.clock = max(longest.clock, now.clock - last.clock)
        longest.processor = max(longest.processor, now.processor - last.processor)
        last = now
      }
    }
  }

  /// Seconds: of the longest turn by the clock, and of the busiest one by processor time.
  private struct Stall {
    var clock = 0.0
    var processor = 0.0
  }

  // MARK: A server

  /// 32 tasks that save and 16 that read all the time, on the pool: apart and together by turns.
  func server() async throws {
    let place = folder.appending(path: "server.strata")
    let store = TwoIndexes.datastore(in: try DiskPersistence(readWriteURL: place))
    try await store.persist(cities[0])
    var (alone, beside, shares, loads) = ([Double](), [Double](), [Double](), [Double]())
    for _ in 0..<5 {
      let writing = try await rates(of: store, writers: 32, readers: 0, for: 2)
      let reading = try await rates(of: store, writers: 0, readers: 16, for: 2)
      let both = try await rates(of: store, writers: 32, readers: 16, for: 2)
      alone.append(writing.persists)
      beside.append(both.persists)
      shares.append(both.persists / writing.persists)
      loads.append(both.reads / reading.reads)
    }
    try FileManager.default.removeItem(at: place)
    print("| a server's persists a second, 32 tasks, no readers | \(Int(Spread(alone).median)) | – |")
    print("| the same beside 16 tasks that load all the time | \(Int(Spread(beside).median)) | ≥ 4000 |")
    print("| the second as a part of the first | \(fixed(Spread(shares).median, digits: 2)) | ≥ 0.25 |")
    print(
      "| these tasks' loads, as a part of what they are without the writers | \(fixed(Spread(loads).median, digits: 2)) | – |"
    )
  }

  private func rates(
    of store: TwoIndexes.Datastore, writers: Int, readers: Int, for duration: Double
  ) async throws -> (persists: Double, reads: Double) {
    let counts = Counts()
    let end = seconds() + duration
    let cities = cities
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<writers {
        group.addTask {
          var number = task
          while seconds() < end {
            var city = cities[number % cities.count]
            city.population = number
            try await store.persist(city)
            number += 32
            counts.persists.add(1, ordering: .relaxed)
          }
        }
      }
      for _ in 0..<readers {
        group.addTask {
          while seconds() < end {
            _ = try await store.load(cities[0].id)
            counts.reads.add(1, ordering: .relaxed)
          }
        }
      }
      try await group.waitForAll()
    }
    return (
      Double(counts.persists.load(ordering: .relaxed)) / duration,
      Double(counts.reads.load(ordering: .relaxed)) / duration
    )
  }

  private final class Counts: Sendable {
    let persists = Atomic(0)
    let reads = Atomic(0)
  }

  private func milliseconds(_ seconds: Double) -> String { "\(fixed(seconds * 1000, digits: 2)) ms" }
}
