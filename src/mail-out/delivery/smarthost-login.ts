import { formatReply } from '../../platform/smtp/reply.ts'
import type { Heard, SmtpDialogue } from './smtp-dialogue.ts'
import { SaslFault, usableMechanisms, type Credentials, type TokenCredentials, type UsableMechanism } from './sasl.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** The result of a login: null if we are logged in. `isRefused`: the operator has to act. `isOfCredentials`: they were presented, and refused. */
export type LoginFailure = { reason: string; isRefused: boolean; isOfCredentials?: boolean } | null

export interface LoginServices {
  /** In capitals, as in EHLO. */
  offered: string[]
  /** True inside TLS with a host of proven identity. */
  isVerified: boolean
  /** The time for each reply. */
  timeoutMs: number
}

/** RFC 4954 4: a longer response would make the command too long. */
const maxCommandLength = 510

/** Logs in with the first mechanism that the host accepts. Never rejects. */
export async function logIn(
  dialogue: SmtpDialogue,
  credentials: Credentials | TokenCredentials,
  { offered, isVerified, timeoutMs }: LoginServices,
): Promise<LoginFailure> {
  let failure: LoginFailure = { reason: notUsable(offered, isVerified), isRefused: true }
  for (const mechanism of usableMechanisms(offered, credentials, isVerified)) {
    const { name } = mechanism
    const answer = await exchange(dialogue, mechanism, timeoutMs)
    if (answer === null) return null
    if (typeof answer === 'string') return { reason: `the login with ${name} was given up: ${answer}`, isRefused: true }
    if ('broken' in answer) return { reason: answer.broken, isRefused: false }
    const isRefused = answer.code >= 500
    failure = { reason: `the login with ${name} was refused: ${formatReply(answer)}`, isRefused, isOfCredentials: isRefused }
    // RFC 5321 4.2.3: it does not know that mechanism after all. Otherwise another one would fail with the same password.
    if (answer.code !== 504) return failure
  }
  return failure
}

/** SCRAM has two steps, and one more if the first response did not fit into the command. */
const maxChallenges = 3

/** Null if we are logged in; otherwise the reply that refuses us, or what is wrong with the host. */
async function exchange(dialogue: SmtpDialogue, { name, start }: UsableMechanism, timeoutMs: number): Promise<Heard | string | null> {
  const ours = start()
  const withInitial = `AUTH ${name} ${toBase64(ours.initial ?? '')}`
  const isInitialSent = ours.initial !== null && withInitial.length <= maxCommandLength
  dialogue.sendHidden(isInitialSent ? withInitial : `AUTH ${name}`, `AUTH ${name}`)
  let answer = await dialogue.reply(timeoutMs, 'AUTH')
  let initial = isInitialSent ? null : ours.initial
  for (let challenges = 1; !('broken' in answer) && answer.code === 334; challenges++) {
    try {
      if (challenges > maxChallenges) throw new SaslFault('it keeps sending challenges')
      const response = initial ?? (await ours.respond(Buffer.from(answer.text, 'base64').toString()))
      initial = null
      dialogue.sendHidden(toBase64(response), '(response)')
    } catch (error) {
      dialogue.sendHidden('*', '*')
      await dialogue.reply(timeoutMs, 'AUTH')
      return reasonOf(error)
    }
    answer = await dialogue.reply(timeoutMs, 'AUTH')
  }
  if ('broken' in answer || answer.code !== 235) return answer
  return ours.isServerProved() ? null : 'it did not prove that it knows the password'
}

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

function notUsable(offered: string[], isVerified: boolean): string {
  if (offered.length === 0) return 'it offers no login (AUTH)'
  const condition = isVerified ? '' : ' without TLS to a host whose certificate is valid'
  return `none of its login mechanisms (${offered.join(', ')}) can be used${condition}`
}

/** After a refusal the next login waits this long, doubling, ms: providers lock out whoever fails repeatedly. */
const firstWaitMs = 60_000
const maxWaitMs = 15 * 60_000

/** How long a login whose result is not known holds the others, ms: if it hangs, that concerns its connection. */
const patienceMs = 5_000

/**
 * Lets at most one login fail at a time, and none for a while after that. Others waiting for the same smarthost get the refusal without
 * asking. If a login hangs, the next one is tried, and the others wait for that.
 */
export class LoginGate {
  /** Called after every login: why it was refused, or null if it succeeded. */
  readonly #told: (refusal: string | null) => void
  /** A login whose result is not known yet, while none has succeeded: ends when the next may be tried. */
  #first: Promise<void> | null = null
  #isProved = false
  readonly #patienceMs: number
  /** Logins that succeeded. */
  #successes = 0
  #refusal: { reason: string; until: number; waitMs: number } | null = null

  constructor(told: (refusal: string | null) => void, patience = patienceMs) {
    this.#told = told
    this.#patienceMs = patience
  }

  /** Why no login is tried now; null if one may be. */
  get refusal(): string | null {
    if (!this.#refusal || this.#refusal.until <= performance.now()) return null
    const { reason, until } = this.#refusal
    return `${reason}; tried again in ${Math.ceil((until - performance.now()) / 1000)} s`
  }

  async run(login: () => Promise<LoginFailure>): Promise<LoginFailure> {
    while (!this.#isProved && this.#first) await this.#first
    if (this.refusal !== null) return { reason: this.refusal, isRefused: true }
    const running = this.#judged(login)
    if (!this.#isProved) this.#first = this.#awaited(running)
    return running
  }

  /** Ends with the login, or once the others have waited long enough for it. */
  async #awaited(running: Promise<LoginFailure>): Promise<void> {
    const { promise: longEnough, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#patienceMs)
    void running.then(
      () => resolve(),
      () => resolve(),
    )
    await longEnough
    clearTimeout(timer)
    this.#first = null
  }

  /** Its result is recorded before those who wait for it go on. */
  async #judged(login: () => Promise<LoginFailure>): Promise<LoginFailure> {
    const before = this.#successes
    const failure = await login()
    if (failure === null) this.#succeeded()
    // If another has succeeded in the meantime, the refusal concerns that connection.
    else if (failure.isRefused && this.#successes === before) this.refused(failure.reason)
    return failure
  }

  /** The smarthost refuses our mail. */
  refused(reason: string): void {
    this.#isProved = false
    const waitMs = Math.min(this.#refusal ? this.#refusal.waitMs * 2 : firstWaitMs, maxWaitMs)
    this.#refusal = { reason, until: performance.now() + waitMs, waitMs }
    this.#told(reason)
  }

  /** The smarthost has accepted mail, so its refusal is over. */
  taken(): void {
    if (this.#refusal) this.#succeeded()
  }

  #succeeded(): void {
    this.#successes++
    this.#isProved = true
    this.#refusal = null
    this.#told(null)
  }
}
