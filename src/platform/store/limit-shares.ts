import type { Log } from '../log.ts'

/** How much a key (an account, a user) may do within a time, in the sum of all nodes. */
export interface LimitWindow {
  /** Counts so many more, or none if they would exceed `limit`. A promise if other nodes may have to leave this one a part of it. */
  take(limit: number, count?: number): boolean | Promise<boolean>
  /** How many more there may be now. */
  remaining(limit: number): number
  /** The ms until there may be one more than now. */
  untilNext(limit: number): number
}

/** The windows of all keys for one limit. */
export interface LimitWindows {
  of(key: string): LimitWindow
  start(log: Log): Promise<void>
  stop(): Promise<void>
}

/** How nodes keep to one limit together. */
export interface LimitShares {
  /**
   * Windows that are kept over a restart, or of which at least those of the least recently active keys may be forgotten.
   * @param name of what is limited, for rows
   */
  windows(name: string, options: { windowMs: number; isKept: boolean }): LimitWindows
}
