import type { AcmeProblem } from './acme-problem.ts'
import type { ChallengeType } from './challenge-answers.ts'

/** Why there is no new certificate. */
export interface AttemptProblem {
  /** See `AcmeProblem`. */
  type: string
  /** What the authority says. */
  detail: string
  /** Null if it came to no challenge. */
  challenge: ChallengeType | null
}

/** A name whose last attempt has not succeeded. */
interface FailingName {
  failures: number
  /** Epoch, ms. */
  lastAt: number
  nextAt: number
  /** Null while the attempt is under way. */
  problem: AttemptProblem | null
}

/** What limits the attempts. It is kept in the database, so that restarts do not add attempts. */
export interface AttemptState {
  names: Record<string, FailingName>
  /** The challenge that each name last proved itself by. */
  worked: Record<string, ChallengeType>
  /** When orders were placed in the last hour; epoch, ms. */
  orders: number[]
  /** An order that was placed and is not filled: whoever goes on needs no other. */
  open: { name: string; url: string } | null
  /** Until when nothing is asked of the authority, why, and whether it asked us to wait. */
  pause: { until: number; failures: number; problem: AttemptProblem; isAsked: boolean } | null
}

export const noAttempts: AttemptState = { names: {}, worked: {}, orders: [], open: null, pause: null }

const minute = 60_000
const hour = 60 * minute
/** Let's Encrypt allows five failures per name and hour. */
const nameDelays = [minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour]
const pauseDelays = [minute, 5 * minute, 15 * minute, 30 * minute, hour]
/** Let's Encrypt allows 300 in three hours. */
const maxOrdersPerHour = 60
/** A longer Retry-After would be a mistake. */
const maxPause = 7 * 24 * hour
const defaultRateLimitPause = hour
/** An operator who has fixed something need not wait longer. */
const retryAfterAll = 15 * minute

const delayAfter = (delays: number[], failures: number, random: number): number =>
  (delays[Math.min(failures, delays.length) - 1] ?? minute) * (1 + random / 10)

/** When an attempt may begin, as far as the authority as a whole is concerned; epoch, ms. */
export function freeAt({ orders, pause }: AttemptState, now: number): number {
  const recent = orders.filter((at) => at > now - hour)
  const nextOrder = recent.length < maxOrdersPerHour ? now : (recent[recent.length - maxOrdersPerHour] ?? now) + hour
  return Math.max(pause?.until ?? 0, nextOrder)
}

/** An attempt begins. Until it succeeds it counts as failed, even if the process is killed. `random`: 0 to 1. */
export function beginAttempt(state: AttemptState, name: string, { now, random }: { now: number; random: number }): AttemptState {
  const failures = (state.names[name]?.failures ?? 0) + 1
  const begun = {
    failures,
    lastAt: now,
    nextAt: now + delayAfter(nameDelays, failures, random),
    problem: state.names[name]?.problem ?? null,
  }
  return { ...state, names: { ...state.names, [name]: begun } }
}

/** An order is about to be placed. */
export const countOrder = (state: AttemptState, now: number): AttemptState => ({
  ...state,
  orders: [...state.orders.filter((at) => at > now - hour), now],
})

/** Forgets a name. */
export function withoutName({ names, worked, ...state }: AttemptState, name: string): AttemptState {
  const { [name]: _, ...others } = names
  const { [name]: __, ...othersWorked } = worked
  return { ...state, names: others, worked: othersWorked }
}

/** An attempt has succeeded. */
export function endAttempt(state: AttemptState, name: string, challenge: ChallengeType): AttemptState {
  const { worked, ...others } = withoutName(state, name)
  return { ...others, worked: { ...worked, [name]: challenge }, open: null, pause: null }
}

/** The challenge to try now: the one that worked last, else the first; after each failure the next one. */
export function challengeFor({ names, worked }: AttemptState, name: string, challenges: readonly ChallengeType[]): ChallengeType {
  const first = Math.max(0, challenges.indexOf(worked[name] as ChallengeType))
  return challenges[(first + (names[name]?.failures ?? 0)) % challenges.length] as ChallengeType
}

interface Failure {
  name: string
  challenge: ChallengeType | null
  problem: AcmeProblem
  /** Epoch, ms. */
  now: number
  /** 0 to 1 */
  random: number
}

/** An attempt has failed. If the authority as a whole is the reason, the name is not blamed, and everything pauses. */
export function failAttempt(begun: AttemptState, { name, challenge, problem, now, random }: Failure): AttemptState {
  const state = { ...begun, open: null }
  const failing = state.names[name]
  if (!failing) return state
  const told = { type: problem.type, detail: problem.message, challenge }
  const asked = Math.min(problem.retryAfterMs ?? (problem.type === 'rateLimited' ? defaultRateLimitPause : 0), maxPause)
  if (isAboutName(problem, name)) {
    const nextAt = Math.max(failing.nextAt, now + asked)
    return { ...state, names: { ...state.names, [name]: { ...failing, nextAt, problem: told } }, pause: null }
  }
  const failures = (state.pause?.failures ?? 0) + 1
  const until = now + Math.max(asked, delayAfter(pauseDelays, failures, random))
  const unblamed = { ...failing, failures: failing.failures - 1, nextAt: until, problem: told }
  return { ...state, names: { ...state.names, [name]: unblamed }, pause: { until, failures, problem: told, isAsked: asked > 0 } }
}

/** Problems with the authority, or with our account there. */
const generalProblems = new Set([
  'unreachable',
  'serverInternal',
  'account',
  'accountDoesNotExist',
  'externalAccountRequired',
  'invalidContact',
  'unsupportedContact',
  'userActionRequired',
  'badSignatureAlgorithm',
  'badPublicKey',
  'badNonce',
])

/** A limit on one domain names it, as in `too many certificates already issued for "example.com"`; others are on the account. */
function isAboutName({ type, message }: AcmeProblem, name: string): boolean {
  if (type !== 'rateLimited') return !generalProblems.has(type)
  const words = new Set(message.toLowerCase().match(/[a-z0-9-]+(?:\.[a-z0-9-]+)+/g))
  const labels = name.split('.')
  return labels.some((_, i) => i < labels.length - 1 && words.has(labels.slice(i).join('.')))
}

/**
 * What failed is tried again soon: at most four times an hour for each name, and at once where the authority could not be asked. What the
 * authority asked for still holds.
 */
export function hasten(state: AttemptState): AttemptState {
  if (state.pause?.isAsked) return state
  const sooner = Object.entries(state.names).map(([name, failing]) => {
    const { type } = failing.problem ?? { type: '' }
    const nextAt = type === 'rateLimited' ? Infinity : failing.lastAt + (generalProblems.has(type) ? minute : retryAfterAll)
    return [name, { ...failing, nextAt: Math.min(failing.nextAt, nextAt) }] as const
  })
  return { ...state, names: Object.fromEntries(sooner), pause: null }
}

/** As it was kept; whatever cannot be read counts as none. */
export function readAttempts(text: string | null): AttemptState {
  try {
    const { names, worked, orders, open = null, pause } = JSON.parse(text ?? '') as AttemptState
    if (typeof names !== 'object' || typeof worked !== 'object' || !Array.isArray(orders)) return noAttempts
    return { names, worked, orders, open, pause }
  } catch {
    return noAttempts
  }
}

/** When to renew: at two thirds of its life, each certificate up to a twentieth earlier, so that they do not all come at once. */
export function renewAt({ validFrom, expiresAt, fingerprint }: { validFrom: number; expiresAt: number; fingerprint: string }): number {
  const jitter = Number.parseInt(fingerprint.replaceAll(':', '').slice(0, 6), 16) / 0xffffff
  return validFrom + (expiresAt - validFrom) * (2 / 3 - jitter / 20)
}
