/** What the thread is told; `watched` is where the input in hand can be seen from outside, should it never return. */
export interface FuzzTask {
  target: string
  seed: number
  /** ms */
  duration: number
  watched: SharedArrayBuffer
}

export interface FuzzFailure {
  kind: 'throws' | 'slow' | 'memory'
  what: string
  input: Uint8Array
}
export interface FuzzResult {
  executions: number
  /** Inputs that were kept to be changed further. */
  kept: number
  slowestMs: number
  slowest: Uint8Array
  /** bytes of the heap, at most */
  heap: number
  failure: FuzzFailure | null
}

/** What one input may take. */
export const limits = { ms: 1000, heapBytes: 256 * 1024 * 1024 }
/** Of the watched memory: its first numbers are the execution in hand and the length of its input. */
export const watchedHeader = 8
