import Glibc
import Measuring
import StrataEngine
import Synchronization

/// 64 threads that each commit durably, against one.
struct ManyWriters {
  let count: Int
  let folder: String
  private let rounds = 5
  private let threads = 64
  private let commitsEach = 32

  func run(_ results: inout Results) throws {
    var work = Work(count: count)
    let contender = try StrataContender(folder: folder)
    try contender.insertAll(work.records)
    var (alone, together): ([Double], [Double]) = ([], [])
    var (commits, syncs) = (0, 0)
    for _ in 0..<rounds {
      let single = (0..<400).map { _ in work.nextInsert() }
      alone.append(try time { for record in single { try contender.insert(record) } } / Double(single.count))
      let batches = (0..<threads).map { _ in (0..<commitsEach).map { _ in work.nextInsert() } }
      let before = contender.store.counts.syncs
      together.append(try insert(batches, contender) / Double(threads * commitsEach))
      syncs += Int(contender.store.counts.syncs - before)
      commits += threads * commitsEach
    }
    results.add(
      Row(
        work: "durable commits of \(threads) threads", rival: "one committer of ours", ours: together, theirs: alone,
        goal: "≥ 5×"))
    results.add(
      "durable commits of \(threads) threads: commits a sync",
      "\(fixed(Double(commits) / Double(syncs))) (\(syncs) syncs)")
  }

  /// One thread for each batch; the seconds from when all are there until all is durable. What is timed is not how they
  /// come to be: who makes them gets little of the processor beside those that write already.
  private func insert(_ batches: [[BenchRecord]], _ contender: StrataContender) throws -> Double {
    let failures = Mutex<[any Error]>([])
    let line = StartingLine(for: batches.count + 1)
    let threads = batches.map { batch in
      BenchThread {
        line.wait()
        do {
          for record in batch { try contender.insert(record) }
        } catch {
          failures.withLock { $0.append(error) }
        }
      }
    }
    let duration = time {
      line.wait()
      for thread in threads { thread.join() }
    }
    if let failure = failures.withLock({ $0.first }) { throw failure }
    return duration
  }
}

/// Where threads wait until all of them are there.
final class StartingLine: @unchecked Sendable {
  // `@unchecked`: the barrier is made and unmade by one thread, and made to be used by many.
  private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)

  init(for threads: Int) { pthread_barrier_init(barrier, nil, UInt32(threads)) }

  deinit {
    pthread_barrier_destroy(barrier)
    barrier.deallocate()
  }

  func wait() { pthread_barrier_wait(barrier) }
}
