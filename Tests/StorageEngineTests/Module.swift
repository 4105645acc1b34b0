#if THREAD_SANITIZER
  import Synchronization

  /// The engine has one of its own then.
  typealias Mutex<Value: ~Copyable> = Synchronization.Mutex<Value>
#endif
