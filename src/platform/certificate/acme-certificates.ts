import { join } from 'node:path'
import type { SecureContext } from 'node:tls'
import type { CancelTimer, Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { isoTime } from '../iso-time.ts'
import type { Health } from '../health.ts'
import type { Log } from '../log.ts'
import type { Resolver } from '../resolver.ts'
import type { Changes } from '../store/changes.ts'
import type { Database } from '../store/database.ts'
import { openAccount } from './acme-account.ts'
import { adviceFor } from './acme-advice.ts'
import { fillOrder, placeOrder, reopenOrder, type Order } from './acme-order.ts'
import { AcmeProblem } from './acme-problem.ts'
import type { AcmeSession, ExternalAccount } from './acme-session.ts'
import { AcmeState } from './acme-state.ts'
import { adoptFiles } from './adopt-files.ts'
import * as attempts from './attempt-state.ts'
import { ChallengeAnswers, type ChallengeType } from './challenge-answers.ts'
import { IssuedCertificates, type IssuedCertificate } from './issued-certificates.ts'
import type { Sealer } from './sealer.ts'

interface AcmeServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  secrets: Sealer
  clock: Pick<Clock, 'now' | 'at'>
  log: Log
  health: Pick<Health, 'set'>
  resolver: Pick<Resolver, 'a' | 'aaaa'>
  /** From 0 to 1. */
  random(): number
}

interface AcmeSettings {
  /** URL of the authority's directory. */
  authority: string
  /** See `AcmeAuthority`. */
  ca: string | null
  email: string | null
  externalAccount: ExternalAccount | null
  /** In order of preference; after a failure the next one is tried. */
  challenges: ChallengeType[]
  /** Where earlier versions kept all of it. */
  dataDir: string
  userAgent: string
  /** How long after it begins this node orders, ms: a balancer that leads authorities here must first see that it is there. */
  firstAfterMs: number
  /** The names to have certificates for. Never a name that a stranger chose. */
  wanted(): string[]
  /** Those that come first, and whose failure is a fault of the server. */
  ownNames: ReadonlySet<string>
}

/** Under which name what we have of an authority is kept: what a staging server issued must not stay when its settings go. */
export const authorityName = (authority: string): string => new URL(authority).host.replaceAll(/[^a-z0-9.-]/g, '_')

/** Renewals that fail before anybody is told; there are weeks left. */
const failuresBeforeFault = 3

/**
 * Gets certificates from an authority over ACME (RFC 8555), keeps them, and renews them. One node orders, all use what it gets, and any of them
 * may be asked by the authority.
 */
export class AcmeCertificates {
  readonly answers: ChallengeAnswers
  readonly #services: AcmeServices
  readonly #settings: AcmeSettings
  readonly #issued: IssuedCertificates
  readonly #kept: AcmeState
  readonly #stopping = new AbortController()
  #state = attempts.noAttempts
  /** Whether this node orders. */
  #isOurs = false
  #session: AcmeSession | null = null
  #looking: Promise<void> | null = null
  #cancelTimer: CancelTimer = () => {}

  constructor(services: AcmeServices, settings: AcmeSettings) {
    this.#services = services
    this.#settings = settings
    const authority = authorityName(settings.authority)
    this.answers = new ChallengeAnswers(services)
    this.#kept = new AcmeState(services, authority)
    this.#issued = new IssuedCertificates(services, authority)
  }

  /** Reads what is kept. Never fails because of a damaged certificate. */
  async load(): Promise<void> {
    const now = this.#services.clock.now()
    await adoptFiles({ ...this.#services, now }, this.#kept, join(this.#settings.dataDir, 'tls', 'acme'))
    await this.#issued.load()
    await this.answers.load()
  }

  /** Has this called when there is a new certificate. */
  set onIssued(tell: () => void) {
    this.#issued.onIssued = tell
  }

  /** This node orders from now on, until the returned function is called. Not before its ports are open: authorities connect to them. */
  async begin(): Promise<() => Promise<void>> {
    this.#isOurs = true
    const { clock } = this.#services
    this.#cancelTimer = clock.at(clock.now() + this.#settings.firstAfterMs, () => void this.retry())
    return () => this.#end()
  }

  /** A valid certificate for this name, or null. */
  certificateFor(name: string): IssuedCertificate | null {
    const found = this.#issued.get(name)
    return found && found.expiresAt > this.#services.clock.now() ? found : null
  }

  contextFor(name: string): SecureContext | undefined {
    return this.#issued.contextFor(name, this.#services.clock.now())
  }

  /** How many names wait for a certificate after a failure. */
  get failing(): number {
    const wanted = new Set(this.#settings.wanted())
    return Object.keys(this.#state.names).filter((name) => wanted.has(name)).length
  }

  /** A fault is reported once a name of ours has no certificate, or could not be renewed for a while. */
  #tellHealth(): void {
    const { names, pause } = this.#state
    const wanted = new Set(this.#settings.wanted())
    const [failing] = Object.entries(names).flatMap(([name, { failures, problem }]) => {
      const isOurs = wanted.has(name) && this.#settings.ownNames.has(name)
      const isLasting = Math.max(failures, pause?.failures ?? 0) >= failuresBeforeFault || this.certificateFor(name) === null
      return isOurs && isLasting && problem ? [{ name, problem }] : []
    })
    const details = failing && {
      name: failing.name,
      problem: failing.problem.detail.replace(/\.$/, ''),
      advice: adviceFor(failing.problem),
    }
    this.#services.health.set('certificate', details !== undefined, details)
  }

  /** Orders what is due, one name after the other, if this node orders. A second call while one runs waits for it. Never rejects. */
  async look(): Promise<void> {
    if (!this.#isOurs) return
    this.#looking ??= this.#look()
      .catch((error: unknown) => {
        if (!this.#isStopping) this.#services.log.error({ problem: messageOf(error) }, 'certificates could not be checked for renewal')
      })
      .finally(() => {
        this.#looking = null
        if (!this.#isStopping) this.#tellHealth()
      })
    return this.#looking
  }

  /** What failed a while ago is tried at once, or by the node that orders within a minute: the operator may have fixed it. Never rejects. */
  async retry(): Promise<void> {
    try {
      await this.#looking
      await this.#kept.hasten()
    } catch (error) {
      this.#services.log.warn({ problem: messageOf(error) }, 'what failed at the certificate authority is not tried sooner')
    }
    await this.look()
  }

  async #end(): Promise<void> {
    this.#cancelTimer()
    this.#stopping.abort()
    await this.#looking
    this.#isOurs = false
    this.#services.health.set('certificate', false)
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  async #look(): Promise<void> {
    const { clock } = this.#services
    // Another node may have ordered, or been told to hurry.
    this.#state = await this.#kept.attempts()
    await this.#tidy()
    for (const name of this.#wantedInTurn()) {
      const now = clock.now()
      if (this.#isStopping || attempts.freeAt(this.#state, now) > now) return
      if (this.#isDue(name, now)) await this.#attempt(name)
    }
  }

  /** Our own names first; those that keep failing last, so that nobody's many broken names use up the orders of an hour. */
  #wantedInTurn(): string[] {
    const rank = (name: string): number => (this.#settings.ownNames.has(name) ? -1 : (this.#state.names[name]?.failures ?? 0))
    return this.#settings.wanted().toSorted((a, b) => rank(a) - rank(b))
  }

  #isDue(name: string, now: number): boolean {
    const failing = this.#state.names[name]
    if (failing) return failing.nextAt <= now
    const issued = this.#issued.get(name)
    return issued === null || attempts.renewAt(issued) <= now
  }

  /** Forgets names that are no longer wanted; their certificates once they have expired. */
  async #tidy(): Promise<void> {
    const wanted = new Set(this.#settings.wanted())
    const now = this.#services.clock.now()
    for (const name of this.#issued.names) {
      if (!wanted.has(name) && (this.#issued.get(name)?.expiresAt ?? 0) <= now) await this.#issued.forget(name)
    }
    const gone = Object.keys(this.#state.names).filter((name) => !wanted.has(name))
    if (gone.length > 0) await this.#keepState(gone.reduce((state, name) => attempts.withoutName(state, name), this.#state))
  }

  async #attempt(name: string): Promise<void> {
    const { clock, log, random } = this.#services
    const type = attempts.challengeFor(this.#state, name, this.#settings.challenges)
    await this.#keepState(attempts.beginAttempt(this.#state, name, { now: clock.now(), random: random() }))
    let challenge: ChallengeType | null = null
    try {
      await this.#resolve(name)
      const order = await this.#order(name)
      challenge = type
      const session = await this.#open()
      const { signal } = this.#stopping
      const made = await fillOrder(order, type, { session, answers: this.answers, signal })
      const { fingerprint, expiresAt } = await this.#issued.keep(name, made, clock.now())
      await this.#keepState(attempts.endAttempt(this.#state, name, type))
      log.info({ name, challenge, fingerprint, expiresAt: isoTime(expiresAt) }, 'got a certificate')
    } catch (error) {
      if (!this.#isStopping) await this.#failed(name, challenge, error)
    }
  }

  async #failed(name: string, challenge: ChallengeType | null, error: unknown): Promise<void> {
    const { clock, log, random } = this.#services
    const problem = error instanceof AcmeProblem ? error : new AcmeProblem('internal', messageOf(error), { cause: error })
    // The directory and the account may have changed.
    this.#session = null
    await this.#keepState(attempts.failAttempt(this.#state, { name, challenge, problem, now: clock.now(), random: random() }))
    const { nextAt = clock.now() } = this.#state.names[name] ?? {}
    const told = { type: problem.type, detail: problem.message, challenge }
    log.warn({ name, ...told, nextAttempt: isoTime(nextAt) }, `no certificate: ${problem.message.replace(/\.$/, '')}. ${adviceFor(told)}`)
  }

  /** A name without an address cannot be validated; asking would only count towards the authority's limits. */
  async #resolve(name: string): Promise<void> {
    const { resolver } = this.#services
    const found = await Promise.all([resolver.a(name), resolver.aaaa(name)])
    if (found.some(({ records }) => records.length > 0)) return
    const isUnknown = found.some(({ status }) => status === 'servfail')
    throw new AcmeProblem('dns', isUnknown ? `the DNS does not answer for ${name}` : `${name} has no address in the DNS`)
  }

  async #open(): Promise<AcmeSession> {
    return (this.#session ??= await openAccount(this.#accountSettings))
  }

  /** The order that a node which has ended placed for the name, or a new one. */
  async #order(name: string): Promise<Order> {
    const { open } = this.#state
    const placed = open?.name === name ? await reopenOrder(name, open.url, await this.#open()) : null
    const order = placed ?? (await this.#place(name))
    await this.#keepState({ ...this.#state, open: { name, url: order.url } })
    return order
  }

  /** Places an order; if the authority no longer knows the account, or has closed it, with a new account. */
  async #place(name: string): Promise<Order> {
    const { clock, log } = this.#services
    const session = await this.#open()
    await this.#keepState(attempts.countOrder(this.#state, clock.now()))
    try {
      return await placeOrder(name, session)
    } catch (error) {
      const isOver = error instanceof AcmeProblem && ['accountDoesNotExist', 'unauthorized'].includes(error.type)
      if (!isOver) throw error
      this.#session = await openAccount(this.#accountSettings, error)
      log.warn({ problem: error.message }, 'the certificate authority no longer accepted our account, so a new one was made')
      return placeOrder(name, this.#session)
    }
  }

  get #accountSettings(): Parameters<typeof openAccount>[0] {
    const { authority, ca, email, externalAccount, userAgent } = this.#settings
    const signal = this.#stopping.signal
    const { log, clock } = this.#services
    return { authority: { directory: authority, ca, userAgent, signal }, state: this.#kept, email, externalAccount, log, now: clock.now() }
  }

  async #keepState(state: attempts.AttemptState): Promise<void> {
    this.#state = state
    await this.#kept.keepAttempts(state)
  }
}
