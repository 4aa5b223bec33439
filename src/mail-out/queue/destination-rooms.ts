import { DueTimes } from '../../platform/due-times.ts'

/** How many recipients of one kind of destination may be claimed, and the destinations of that kind that may be claimed from. */
export interface Room {
  readonly limit: number
  /** Of one destination. */
  readonly limitEach: number
  inFlight: number
  readonly line: DueTimes
}

/** The rooms for usual mail, or for urgent mail. */
export interface Rooms {
  /** For those that have answered and do not hang. */
  readonly proven: Room
  readonly others: Room
}

/** @param limit of both together, half of it for those that answer */
export const roomsOf = (limitEach: number, limit: number): Rooms => ({
  proven: roomOf(limitEach, limit / 2),
  others: roomOf(limitEach, limit / 2),
})

const roomOf = (limitEach: number, limit: number): Room => ({ limit, limitEach, inFlight: 0, line: new DueTimes() })

export const isOverfull = ({ limit, inFlight, line }: Room, now: number): boolean => inFlight >= limit && line.firstDueAt <= now
