import type { BaseServices } from '../../platform/base-services.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { ClosedError } from '../../platform/store/database.ts'
import { KeyedMutex } from '../../platform/store/keyed-mutex.ts'
import { authoritativeResolvers, firstToAnswer } from './authoritative-resolver.ts'
import { checkRecords, type Finding, checkRecord } from './check-records.ts'
import type { Domain } from './domain.ts'
import { beginCheck, domainAfterCheck, nextCheckAt } from './domain-check.ts'
import { type DnsRecord, type RecordHosts, recordsFor, zoneOf } from './domain-records.ts'

interface DomainChecksServices extends Pick<BaseServices, 'clock' | 'log'> {
  resolver: Resolver
  hosts: RecordHosts
  /** How long the records of replaced keys must stay, ms. */
  keepOldKeysMs: number
  /** Finds the name servers of a domain's own zone, which are asked first. */
  authoritative?: ((domain: string, resolver: Resolver) => Promise<DnsResolver[]>) | undefined
  /** Changes a domain, one change at a time. */
  change(id: string, decide: (domain: Domain) => Domain): Promise<Domain>
}

/** How many domains are checked at a time. */
const checksAtOnce = 5
/** How soon a domain's owner may request the next check, ms. */
const askingIntervalMs = 10_000

/** Checks the records of domains: when their owners ask, and regularly by itself. */
export class DomainChecks {
  readonly #services: DomainChecksServices
  readonly #underWay = new Map<string, Promise<Domain>>()
  readonly #askedAt = new Map<string, number>()
  /** By account. */
  readonly #turns = new KeyedMutex()

  constructor(services: DomainChecksServices) {
    this.#services = services
  }

  /**
   * Checks the domain's records now and waits for the result. Several callers share one check.
   * @throws SternaError `not_found`
   */
  check(domain: Domain): Promise<Domain> {
    const { id } = domain
    let check = this.#underWay.get(id)
    if (!check) {
      check = this.#lookUp(domain).finally(() => this.#underWay.delete(id))
      this.#underWay.set(id, check)
    }
    return check
  }

  /**
   * Starts a check and does not wait for its result. Those of one account come one after the other.
   * @throws SternaError `rate_limit_exceeded` within ten seconds of the last one, `not_found`
   */
  async begin(domain: Domain): Promise<void> {
    const { clock, log, change } = this.#services
    const { id } = domain
    const now = clock.now()
    const left = (this.#askedAt.get(id) ?? -Infinity) + askingIntervalMs - now
    if (left > 0) {
      const message = `The records of ${domain.name} were checked a moment ago. Ask again in ${Math.ceil(left / 1000)} seconds.`
      throw new SternaError('rate_limit_exceeded', message, { retryAfter: left / 1000 })
    }
    this.#askedAt.set(id, now)
    const pending = await change(id, (current) => beginCheck(current, now))
    const check = this.#turns.take(pending.accountId, () => this.check(pending))
    check.catch((error: unknown) => this.#failed(id, error, log))
  }

  /** Checks those of the domains that are due. Returns how many it checked. */
  async checkDue(domains: Domain[]): Promise<number> {
    const { clock, log } = this.#services
    const due = domains.filter((domain) => (nextCheckAt(domain) ?? Infinity) <= clock.now())
    for (let i = 0; i < due.length; i += checksAtOnce) {
      const checks = due
        .slice(i, i + checksAtOnce)
        .map((domain) => this.check(domain).catch((error: unknown) => this.#failed(domain.id, error, log)))
      await Promise.all(checks)
    }
    return due.length
  }

  forget(id: string): void {
    this.#askedAt.delete(id)
  }

  #failed(domainId: string, error: unknown, log: Log): void {
    // A domain may be removed during its check, and the server may stop.
    if ((error instanceof SternaError && error.code === 'not_found') || error instanceof ClosedError) return
    log.error({ domainId, error }, 'a domain could not be checked')
  }

  /** A result counts only if the domain still wants the same records. */
  async #lookUp(domain: Domain): Promise<Domain> {
    const { clock, hosts, keepOldKeysMs, change } = this.#services
    const wanted = recordsFor(domain, hosts)
    const findings = await this.#find(domain.name, wanted)
    let isOutdated = false
    const after = await change(domain.id, (current) => {
      isOutdated = !isSame(recordsFor(current, hosts), wanted)
      if (isOutdated) return current
      const now = clock.now()
      return domainAfterCheck(beginCheck(current, now), findings, now, keepOldKeysMs)
    })
    return isOutdated ? this.#lookUp(after) : after
  }

  async #find(name: string, records: DnsRecord[]): Promise<Finding[]> {
    const { resolver, authoritative = authoritativeResolvers } = this.#services
    const own = await authoritative(name, resolver)
    try {
      const first = firstToAnswer([...own, resolver])
      const findings = await withDoubledNames(await checkRecords(records, first), records, { zone: zoneOf(name), resolver: first })
      return await shownEverywhere(findings, records, own)
    } finally {
      for (const server of own) server.close()
    }
  }
}

/** A new key must not sign before every name server of the zone has it: a verifier may ask the one that lags behind. */
async function shownEverywhere(findings: Finding[], records: DnsRecord[], servers: Resolver[]): Promise<Finding[]> {
  const waiting = records.filter(({ kind }) => kind.startsWith('next-'))
  if (waiting.length === 0) return findings
  const byServer = (await Promise.all(servers.map((server) => checkRecords(waiting, server)))).flat()
  return findings.map((finding) => byServer.find(({ kind, isPresent }) => kind === finding.kind && isPresent === false) ?? finding)
}

const isSame = (one: DnsRecord[], other: DnsRecord[]): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Looks for missing records where a DNS provider puts them that appends the name of the zone to a name that has it already:
 * `send.example.com.example.com`.
 */
export function withDoubledNames(
  findings: Finding[],
  records: readonly DnsRecord[],
  { zone, resolver }: { zone: string; resolver: Resolver },
): Promise<Finding[]> {
  return Promise.all(
    findings.map(async (finding) => {
      const record = records.find(({ kind }) => kind === finding.kind)
      if (finding.reason !== 'missing' || !record) return finding
      const { isPresent } = await checkRecord({ ...record, name: `${record.name}.${zone}` }, resolver)
      return isPresent === true ? { ...finding, reason: 'doubled_name' } : finding
    }),
  )
}
