import Glibc
import StoreBrowser
import Testing

/// Random keys, commands, pastes, clicks, sizes, commits of other programs and kills, on a store of its own.
///
/// `make test` runs 2,000 events for each of three seeds, `make soak` 20,000 for each of ten that it draws and prints.
/// `STRATA_MONKEY=EVENTSxSEEDS` asks for other numbers, `STRATA_MONKEY_SEED` runs one seed again.
@Suite("Monkey")
struct MonkeyTests {
  struct Plan {
    var events: Int
    var seeds: [UInt64]

    static let ordered: Plan = {
      let isSoak = variable("STRATA_SOAK") != nil
      let numbers = (variable("STRATA_MONKEY") ?? (isSoak ? "20000x10" : "2000x3")).split(separator: "x")
        .compactMap { Int($0) }
      let (events, count) = numbers.count == 2 ? (numbers[0], numbers[1]) : (2_000, 3)
      if let seed = variable("STRATA_MONKEY_SEED").flatMap({ UInt64($0) }) {
        return Plan(events: events, seeds: [seed])
      }
      return Plan(
        events: events,
        seeds: (1...UInt64(max(1, count))).map { isSoak ? UInt64.random(in: 4...999_999_999) : $0 })
    }()

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
  }

  @Test("whatever is pressed, nothing breaks and nothing is lost", arguments: Plan.ordered.seeds)
  func monkey(seed: UInt64) async throws {
    print("monkey seed \(seed), \(Plan.ordered.events) events")
    let failure = await OwnThread.run { () -> String? in
      do {
        let monkey = try Monkey(seed: seed)
        do {
          try monkey.run(events: Plan.ordered.events)
          try monkey.expectAllWell()
          return nil
        } catch {
          return "seed \(seed): \(error)\n\(monkey.keep())\n\(monkey.browser.picture)"
        }
      } catch {
        return "seed \(seed): \(error)"
      }
    }
    if let failure { Issue.record("\(failure)") }
  }

  @Test("every command of the table is among what the monkey does, by its keys and by its name")
  func reachesAll() {
    var (keys, names): (Set<Command>, Set<Command>) = ([], [])
    for seed in 1...3 as ClosedRange<UInt64> {
      var hand = MonkeyHand(seed: seed)
      var count = 0
      while count < 8_000 {
        let step = hand.next()
        count += step.events
        switch step.source {
        case .key(let command): keys.insert(command)
        case .name(let command): names.insert(command)
        case .other: break
        }
      }
    }
    #expect(names == Set(CommandTable.all.map(\.command)))
    #expect(keys == Set(CommandTable.all.filter { !$0.keys.isEmpty }.map(\.command)))
  }
}
