import CodableDatastore
import Foundation
import Testing

@Suite("Scenarios: transactions")
struct TransactionScenarios {
  let persistence = MemoryPersistence()
  let tracks: TrackFormat.Datastore
  let settings: SettingFormat.Datastore

  init() {
    tracks = TrackFormat.tracks(in: persistence)
    settings = SettingFormat.settings(in: persistence)
  }

  @Test("a closure's value comes back, its error unchanged")
  func results() async throws {
    let number = try await persistence.perform { 42 }
    #expect(number == 42)
    await #expect(throws: ScenarioFailure(number: 9)) {
      try await persistence.perform { throw ScenarioFailure(number: 9) }
    }
    let nothing: Track? = try await persistence.perform { try await tracks.load(UUID()) }
    #expect(nothing == nil)
  }

  @Test("isDurable is true only for an outermost plain transaction")
  func durability() async throws {
    try await persistence.perform { persistence, isDurable in
      #expect(isDurable)
      try await persistence.perform { _, isDurable in #expect(!isDurable) }
      try await persistence.perform(options: .readOnly) { _, isDurable in #expect(!isDurable) }
    }
    try await persistence.perform(options: [.collateWrites]) { _, isDurable in #expect(!isDurable) }
    try await persistence.perform(options: [.readOnly]) { _, isDurable in #expect(!isDurable) }
    try await persistence.perform(actionName: "again", options: [.idempotent]) { _, isDurable in #expect(isDurable) }
  }

  @Test("two datastores change together or not at all")
  func togetherOrNot() async throws {
    let track = Track.numbered(1...1)[0]
    await #expect(throws: DatastoreInterfaceError.instanceNotFound) {
      try await persistence.perform {
        try await tracks.persist(track)
        try await settings.persist(Setting(value: "on"), to: "on")
        try await settings.delete("off")
      }
    }
    #expect(try await tracks.count == 0)
    #expect(try await settings.count == 0)
    #expect(try await tracks.load("all", from: \.genres).firstInstance == nil)
    try await persistence.perform {
      try await tracks.persist(track)
      try await settings.persist(Setting(value: "on"), to: "on")
    }
    #expect(try await tracks.load("all", from: \.genres).firstInstance == track)
    #expect(try await settings.load("on") == Setting(value: "on"))
  }

  @Test("an error that is caught inside leaves the rest of the transaction standing")
  func caught() async throws {
    try await persistence.perform {
      try await settings.persist(Setting(value: "1"), to: "1")
      do {
        try await settings.delete("2")
        Issue.record("there is none")
      } catch DatastoreInterfaceError.instanceNotFound {}
      try await settings.persist(Setting(value: "3"), to: "3")
    }
    #expect(try await settings.count == 2)
  }

  @Test("async let, task groups and plain tasks join")
  func joining() async throws {
    try? await persistence.perform {
      async let one = settings.persist(Setting(value: "1"), to: "1")
      async let two = settings.persist(Setting(value: "2"), to: "2")
      _ = try await (one, two)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in ["3", "4", "5"] { group.addTask { try await settings.persist(Setting(value: name), to: name) } }
        try await group.waitForAll()
      }
      _ = try await Task { try await settings.persist(Setting(value: "6"), to: "6") }.value
      #expect(try await settings.count == 6)
      let outside = try await Task.detached { try await settings.count }.value
      #expect(outside == 0)
      throw ScenarioFailure()
    }
    #expect(try await settings.count == 0)
  }

  @Test("a child that fails and is caught takes back its own writes only")
  func nesting() async throws {
    try await persistence.perform {
      try await settings.persist(Setting(value: "outer"), to: "a")
      do {
        try await persistence.perform {
          #expect(try await settings.load("a") == Setting(value: "outer"))
          try await settings.persist(Setting(value: "inner"), to: "a")
          try await persistence.perform { try await settings.persist(Setting(value: "innermost"), to: "b") }
          throw ScenarioFailure()
        }
      } catch is ScenarioFailure {}
      #expect(try await settings.load("a") == Setting(value: "outer"))
      #expect(try await settings.load("b") == nil)
      try await persistence.perform { try await settings.persist(Setting(value: "second"), to: "c") }
      #expect(try await settings.load("c") == Setting(value: "second"))
    }
    #expect(try await settings.count == 2)
  }

  @Test("siblings of one transaction run one after the other")
  func siblings() async throws {
    try await persistence.perform {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask {
            try await persistence.perform {
              let count = Int(try await settings.load("count")?.value ?? "0") ?? 0
              await Task.yield()
              try await settings.persist(Setting(value: "\(count + 1)"), to: "count")
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try await settings.load("count") == Setting(value: "20"))
  }

  @Test(
    "a thousand transactions that ask at once all come, one after the other", .enabled(if: !TestedStore.isServed))
  func queue() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<1000 {
        group.addTask {
          try await persistence.perform {
            let count = Int(try await settings.load("count")?.value ?? "0") ?? 0
            if number.isMultiple(of: 100) { await Task.yield() }
            try await settings.persist(Setting(value: "\(count + 1)"), to: "count")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await settings.load("count") == Setting(value: "1000"))
  }

  @Test("read-only transactions overlap each other and a writer")
  func overlapping() async throws {
    try await settings.persist(Setting(value: "before"), to: "a")
    let writing = Gate()
    let done = Gate()
    let writer = Task.detached {
      try await persistence.perform {
        try await settings.persist(Setting(value: "after"), to: "a")
        writing.open()
        await done.wait()
      }
    }
    await writing.wait()
    try await persistence.perform(options: .readOnly) {
      #expect(try await settings.load("a") == Setting(value: "before"))
      try await Task.detached {
        try await persistence.perform(options: .readOnly) {
          let setting = try await settings.load("a")
          #expect(setting == Setting(value: "before"))
        }
      }.value
      done.open()
      try await writer.value
      #expect(try await settings.load("a") == Setting(value: "before"))
    }
    #expect(try await settings.load("a") == Setting(value: "after"))
  }

  @Test("writing in a read-only transaction throws, and the transaction goes on")
  func writingWhileReading() async throws {
    try await persistence.perform(options: .readOnly) {
      await #expect(throws: DiskPersistenceError.cannotWrite) {
        try await settings.persist(Setting(value: "x"), to: "x")
      }
      let count = try await settings.count
      #expect(count == 0)
    }
  }

  @Test("a transaction that only reads may be plain")
  func plainReading() async throws {
    try await settings.persist(Setting(value: "x"), to: "x")
    let count = try await persistence.perform { try await settings.count }
    #expect(count == 1)
  }

  @Test("a cancelled transaction writes nothing and lets the next one in")
  func cancelling() async throws {
    let begun = Gate()
    let task = Task.detached {
      try await persistence.perform {
        try await settings.persist(Setting(value: "x"), to: "x")
        begun.open()
        while !Task.isCancelled { await Task.yield() }
        try Task.checkCancellation()
      }
    }
    await begun.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await settings.persist(Setting(value: "y"), to: "y")
    #expect(try await settings.count == 1)
  }

  @Test("loads made in a transaction go on after it, as of when they were made")
  func sequencesOutlive() async throws {
    let sequence = try await persistence.perform {
      for track in Track.numbered(1...3) { try await tracks.persist(track) }
      let sequence = tracks.load(..., from: \.name)
      try await tracks.persist(Track.numbered(4...4)[0])
      return sequence
    }
    #expect(try await sequence.collectInstances(upTo: .infinity).count == 3)
  }

  @Test("datastores may come and go within a transaction")
  func passingDatastores() async throws {
    let tracks = Track.numbered(1...20)
    try await persistence.perform {
      for (number, track) in tracks.enumerated() {
        let passing = TrackFormat.tracks(in: persistence, key: DatastoreKey("passing \(number)"))
        try await passing.persist(track)
      }
    }
    for (number, track) in tracks.enumerated() {
      let passing = TrackFormat.tracks(in: persistence, key: DatastoreKey("passing \(number)"))
      #expect(try await passing.load(track.id) == track)
    }
  }

  @Test("options print by name, and keep only the bits that everybody may set")
  func options() {
    #expect(TransactionOptions([.readOnly]).debugDescription == "TransactionOptions([.readOnly])")
    #expect(TransactionOptions(rawValue: .max).rawValue == 7)
    let retrying: TransactionOptions = [.readOnly, .retriesConflicts]
    #expect(TransactionOptions(rawValue: retrying.rawValue) == retrying)
    #expect(retrying.subtracting(.readOnly) == .retriesConflicts)
    #expect(TransactionOptions(rawValue: 8).rawValue == 0)
    #expect(UnsafeTransactionOptions(TransactionOptions.collateWrites) == .collateWrites)
    #expect(UnsafeTransactionOptions.skipObservations.rawValue == 1 << 16)
    #expect(UnsafeTransactionOptions.enforceDurability.rawValue == 1 << 17)
  }
}
