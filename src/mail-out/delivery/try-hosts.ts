import { isIPv6 } from 'node:net'
import { maxTries } from './address-order.ts'
import { askHost, noteUnopened } from './ask-host.ts'
import type { Attempt, DeliveryRecipient, HostBackoff, Outcome, Postponed } from './attempt.ts'
import type { Call } from './host-call.ts'
import { attemptOf, draftFor, type Draft } from './draft.ts'
import { firstToConnect, type Contender, type Race } from './first-to-connect.ts'
import { ownerOf } from './mx-provider.ts'
import { unreachable } from './open-connection.ts'
import { asDeferral, bounce, deferral, outcomeOfHosts, type HostOutcome } from './outcome.ts'
import { backoffFor } from './host-health.ts'
import { hostKey, hostText, type RouteHost } from './route.ts'
import type { Try } from './tls-trouble.ts'
import type { Transferring } from './transferring.ts'
import {
  failureOf,
  namedObjection,
  noRecords,
  publishedFor,
  unlisted,
  type PublishedTlsPolicy,
  type SessionFailure,
} from './tls-session.ts'
import { withDane } from './transport-policy.ts'

/** `connected`: a socket that is connected to it already. */
type Chosen = Contender & { connected: Call | null }

/** How the host was tried that an attempt shows. */
type Shown = Pick<Draft, 'last' | 'connection'>

/** One recipient's mail, host by host until one answers for it. */
export class HostTries {
  readonly #hosts: RouteHost[]
  readonly #recipient: DeliveryRecipient
  readonly #transferring: Transferring
  #tries: Try[]
  #draft: Draft | null = null
  /** By host. If one is tried twice, over TLS and in plain text, the later outcome counts. */
  #outcomes: Map<RouteHost, Outcome> | undefined
  /** How hosts that must not be connected to were tried. */
  #closed: Map<Try, Outcome> | undefined
  /** Names of hosts that lack what the message or its policy needs. */
  #lacking: Set<string> | undefined
  /** Names of hosts whose policy takes account of their TLSA records. */
  #withDane: Set<string> | undefined
  /** Whose outcome it is, unless that ended the attempt at once. */
  #shownBy: Map<Outcome, Shown> | undefined
  /** Hosts in backoff that were not asked, and why, by name. */
  #unasked: Map<string, { each: Try; reason: string }> | undefined
  /** One that may be tried, but not by this attempt. */
  #endedBefore: Try | null = null
  /** Who may take over IPv4 what it has refused over IPv6. */
  #refusedOverIpv6: { host: RouteHost; outcome: Outcome } | null = null
  #count = 0
  /** True if this machine has lost the address that it connected from, so another is chosen next. */
  #hasOtherSource = false

  constructor(hosts: RouteHost[], recipient: DeliveryRecipient, transferring: Transferring) {
    const { job, services, sts } = transferring
    this.#hosts = hosts
    this.#recipient = recipient
    this.#transferring = transferring
    this.#tries = services.tlsTroubles.tries(hosts, job, sts)
  }

  async run(): Promise<Attempt | Postponed> {
    const { job, services } = this.#transferring
    for (let planned = this.#tries.shift(); planned; planned = this.#tries.shift()) {
      if (!this.#mayTry(planned)) continue
      const each = !this.#isOver && this.#mayBeUnderDane(planned) ? await this.#underDane(planned) : planned
      if (each === null || (each.policy.closed !== undefined && !this.#mayTry(each))) continue
      const lease = this.#isOver ? null : await services.pool.acquire(each.host, each.policy, job)
      if (!lease && !this.#draft) return this.#postponed()
      if (!lease) {
        this.#endedBefore = each
        break
      }
      // Another job may have found it down in the meantime.
      if (!lease.connection && !this.#mayTry(each)) {
        lease.release(null)
        continue
      }
      const draft = this.#drafted()
      this.#count++
      const [next] = this.#tries
      const hasMore = !lease.connection && next !== undefined && this.#mayRace(each, next)
      const chosen = hasMore ? await this.#connectToFirst({ each, lease }, draft) : { each, lease, connected: null }
      if (chosen === null && this.#hasOtherSource) return this.#postponed()
      if (chosen === null) continue
      const verdict = chosen === 'out of sockets' ? chosen : await askHost(chosen, this.#recipient, this.#transferring, draft)
      if (typeof verdict === 'string' && !this.#outcomes?.size) return this.#postponed()
      if (typeof verdict === 'string' || chosen === 'out of sockets') {
        this.#endedBefore = each
        break
      }
      if (this.#isFinal(chosen.each, verdict, draft)) return attemptOf(draft, verdict.outcome, job)
    }
    const backoff = services.health.backoffOfAll(this.#hosts.map(hostKey), performance.now())
    if (!this.#outcomes?.size && !this.#closed && backoff) return this.#postponed(backoff)
    const outcome = this.#outcome()
    return { ...attemptOf({ ...this.#drafted(), ...this.#shownBy?.get(outcome) }, outcome, job), backoff }
  }

  #drafted(): Draft {
    const { job, services } = this.#transferring
    return (this.#draft ??= draftFor(this.#recipient.id, job, services))
  }

  /** Of an outcome that others may still outdo. */
  #show(outcome: Outcome, last: Try, connection: Draft['connection'] = null): Outcome {
    ;(this.#shownBy ??= new Map()).set(outcome, { last, connection })
    return outcome
  }

  /** What is set for the recipient's domain holds instead of TLSA records, unless it asks for them; so does `TLS-Required: No`. */
  #mayBeUnderDane({ host }: Try): boolean {
    const { job, services } = this.#transferring
    if (this.#withDane?.has(host.name)) return false
    if (job.recipientTls !== null) return job.recipientTls === 'dane'
    return job.transfer?.requireTls !== false && services.daneHosts.concerns(host, job.destination)
  }

  /** How the host, at all of its addresses, is tried now that its TLSA records are known; null if mail must not go there. */
  async #underDane({ host, policy, because }: Try): Promise<Try | null> {
    const { job, services } = this.#transferring
    const found = withDane(policy, await services.daneHosts.find(host, job.destination), job)
    if ('key' in found) {
      ;(this.#withDane ??= new Set()).add(host.name)
      if (found === policy) return { host, policy, because }
      this.#tries = this.#tries.map((each) => (each.host.name === host.name ? { host: each.host, policy: found, because: null } : each))
      return { host, policy: found, because: null }
    }
    const draft = this.#drafted()
    const { outcome } = deferral('policy', `${host.name} (${host.address}): ${namedObjection(found.under, found.shown)}`)
    draft.transcript.note(`${host.name}: ${found.shown.fault}`)
    const published = found.under.unusable ? publishedFor(found.under, job.destination) : noRecords(host.name)
    this.#reportUnopened(host, published, failureOf(found.shown, found.under, published))
    this.#keep({ host, policy: found.under, because: null }, outcome)
    ;(this.#lacking ??= new Set()).add(host.name)
    return null
  }

  /** For the reports on TLS, where it counts as a session that failed. */
  #reportUnopened({ name, address, smarthost }: RouteHost, policy: PublishedTlsPolicy, failure: SessionFailure | null): void {
    const { job, services } = this.#transferring
    const { noteSession } = services.connection
    if (!noteSession || job.isOwnMail || smarthost) return
    noteSession({ destination: job.destination, policy, mxHost: name, address, sourceAddress: null, failure })
  }

  #postponed(backoff?: HostBackoff): Postponed {
    return { recipientId: this.#recipient.id, postponed: true, ...(backoff && { backoff }) }
  }

  /** True once the attempt has tried as many addresses, or taken as long, as it may. */
  get #isOver(): boolean {
    return this.#count === maxTries || (this.#draft !== null && performance.now() >= this.#draft.endsAt)
  }

  /** False of a host that must not be connected to, that is in backoff, that has failed for this job, or that lacks what the message needs. */
  #mayTry(each: Try): boolean {
    const { host, policy } = each
    const { job, services, failed } = this.#transferring
    // TLSA records win over what the domain publishes (RFC 8461 2).
    if (policy.closed !== undefined && !(policy.source === 'mta_sts' && this.#mayBeUnderDane(each))) {
      this.#noteClosed(each, policy.closed)
      return false
    }
    if (this.#lacking?.has(host.name)) return false
    // A host that has just failed over TLS may be tried in plain text, even if that failure put it into backoff.
    const backoff = this.#outcomes?.has(host) ? undefined : backoffFor(job, services.health.backoffOf(hostKey(host), performance.now()))
    if (backoff) (this.#unasked ??= new Map()).set(host.name, { each, reason: backoff.reason })
    const known = failed.get(host)
    if (!backoff && known) this.#keep(each, known)
    return !backoff && !known
  }

  /** What the domain publishes may be corrected; nobody else will vouch for the host. */
  #noteClosed(each: Try, why: string): void {
    const { job } = this.#transferring
    const isPublished = each.policy.source === 'mta_sts'
    // Once, however many recipients there are.
    const isReported = isPublished && job.recipients[0] === this.#recipient && !this.#closed?.has(each)
    if (isReported) this.#reportUnopened(each.host, publishedFor(each.policy, job.destination), unlisted(why))
    const outcome = isPublished ? deferral('policy', `4.7.5 ${why}`).outcome : bounce(`5.7.30 ${why}`, 'policy')
    ;(this.#closed ??= new Map()).set(each, this.#show(outcome, each))
  }

  #keep(each: Try, outcome: Outcome, connection: Draft['connection'] = null): void {
    ;(this.#outcomes ??= new Map()).set(each.host, this.#show(outcome, each, connection))
  }

  /** Whether the attempt ends with this verdict; if not, it is kept, with what follows from it for the hosts still to be tried. */
  #isFinal(each: Try, verdict: HostOutcome, draft: Draft): boolean {
    const { job, services, failed, sts } = this.#transferring
    const { host } = each
    this.#outcomes?.delete(host)
    if (services.ipv6Refusals.note(host, verdict.outcome, { hosts: this.#hosts, now: performance.now() })) {
      draft.transcript.note(`IPv6 comes last at ${host.name} from now on`)
      this.#refusedOverIpv6 = { host, outcome: this.#show(verdict.outcome, each, draft.connection) }
      this.#tries = this.#tries.filter((other) => other.host.name !== host.name || !isIPv6(other.host.address))
      return false
    }
    if (sts && isHeldBackBySts(each, verdict)) void services.sts?.policyAnew(sts.domain, job.at)
    if (verdict.tlsTrouble) services.connection.sessions.forget(host)
    const inPlain = services.tlsTroubles.after(each, verdict, job.at)
    if (!verdict.nextHost) return true
    this.#keep(each, verdict.outcome, draft.connection)
    if (inPlain) {
      failed.delete(host)
      this.#tries.push(inPlain)
    }
    if (verdict.nextHost === 'of another owner') {
      for (const other of this.#hosts) if (ownerOf(other.name) === ownerOf(host.name)) failed.set(other, verdict.outcome)
    }
    if (verdict.nextHost === 'of another name') (this.#lacking ??= new Set()).add(host.name)
    return false
  }

  /** The first of a host's addresses that answers; null if none does. Those that were not needed are to be tried later. */
  async #connectToFirst(begin: Contender, draft: Draft): Promise<Chosen | 'out of sockets' | null> {
    const { timeouts } = this.#transferring.services.connection
    const startedAt = performance.now()
    const race = await firstToConnect(begin, {
      next: () => this.#nextOf(begin.each),
      connectMs: Math.max(1, Math.min(timeouts.connect, draft.endsAt - startedAt)),
      headStartMs: timeouts.headStart,
    })
    this.#noteRace(race, startedAt, draft)
    if (race.first) return { ...race.first.one, connected: race.first.call }
    return race.isOutOfSockets ? 'out of sockets' : null
  }

  /** One more address of the same host, to be tried in the same way. */
  #nextOf(begun: Try): Contender | null {
    while (!this.#isOver) {
      const at = this.#tries.findIndex((other) => this.#mayRace(begun, other))
      const each = this.#tries[at]
      if (!each) return null
      const mayTry = this.#mayTry(each)
      const lease = mayTry ? this.#transferring.services.pool.acquireNow(each.host, each.policy) : null
      if (mayTry && !lease) return null
      this.#tries.splice(at, 1)
      if (!lease) continue
      this.#count++
      return { each, lease }
    }
    return null
  }

  /** True of another address of the same host, to be tried in the same way, that may be connected to meanwhile: not IPv6 where that comes last. */
  #mayRace({ host, policy }: Try, other: Try): boolean {
    const { ipv6Refusals } = this.#transferring.services
    return other.host.name === host.name && other.policy.key === policy.key && !ipv6Refusals.isAside(other.host, performance.now())
  }

  #noteRace({ failed, overtaken }: Race, startedAt: number, draft: Draft): void {
    const { services, failed: failedHosts } = this.#transferring
    for (const { one, fault, code } of failed) {
      const { host } = one.each
      const verdict = unreachable(host, { fault, code })
      draft.transcript.note(`${hostText(host)}: ${fault}`)
      this.#keep(one.each, verdict.outcome)
      failedHosts.set(host, verdict.outcome)
      if (noteUnopened(verdict, one.each, startedAt, services)) this.#hasOtherSource = true
    }
    for (const { one, isSlow } of overtaken.toReversed()) {
      const { host } = one.each
      draft.transcript.note(`${hostText(host)}: another address was faster`)
      if (isSlow) services.health.noteSlow(hostKey(host), performance.now())
      this.#count--
      this.#tries.unshift(one.each)
    }
  }

  /** A host in backoff that was not asked at any address may take what the others refuse, and so may one that the attempt did not come to. */
  #outcome(): Outcome {
    const names = new Set([...(this.#outcomes?.keys() ?? [])].map(({ name }) => name))
    const unasked = [...(this.#unasked ?? [])].flatMap(([name, { each, reason }]) =>
      names.has(name) ? [] : [this.#show(deferral('other', reason).outcome, each)],
    )
    const next = this.#endedBefore
    if (next) unasked.push(this.#show(deferral('other', `${next.host.name} has not been tried yet`).outcome, next))
    const outcome = outcomeOfHosts([...(this.#closed?.values() ?? []), ...unasked, ...(this.#outcomes?.values() ?? [])])
    return outcome.type === 'deferred' && outcome.reply === null ? this.#unansweredOutcome(outcome) : outcome
  }

  /** A refusal over IPv6 says more than that nobody has answered over IPv4. */
  #unansweredOutcome(unanswered: Outcome): Outcome {
    const { job, services } = this.#transferring
    const refused = this.#refusedOverIpv6
    if (!refused) return unanswered
    if (services.ipv6Refusals.noteUnanswered(refused.host, job.at)) return refused.outcome
    const kept = asDeferral(refused.outcome)
    this.#shownBy?.set(kept, this.#shownBy.get(refused.outcome) as Shown)
    return kept
  }
}

/** What the domain publishes may have changed before the next attempt, which may be the last. */
const isHeldBackBySts = ({ policy }: Try, { outcome }: HostOutcome): boolean =>
  policy.source === 'mta_sts' && outcome.type === 'deferred' && outcome.category === 'policy' && outcome.reply === null
