import type { PublishedTlsPolicy, TlsResultType } from '../../mail-out/delivery/tls-session.ts'
import { isoTime } from '../../platform/iso-time.ts'

export const dayMs = 24 * 60 * 60_000

/** From the first second of a day (UTC, days since 1970) to its last; epoch, ms. */
export const spanOf = (day: number) => ({ beginsAt: day * dayMs, endsAt: (day + 1) * dayMs - 1000 })

export const dateOf = (day: number): string => isoTime(day * dayMs).slice(0, 10)

/** Sessions of a day with one domain that had the same end. */
export interface CountedSessions {
  policy: PublishedTlsPolicy
  /** Null for successes, of which nothing more is told. */
  failure: { type: TlsResultType; reason: string; mxHost: string; address: string; sourceAddress: string | null } | null
  sessions: number
}

interface ReportFacts {
  id: string
  /** UTC, days since 1970. */
  day: number
  organization: string
  contact: string
}

/** What others have published may be long. */
const maxStrings = 100
/** A report with more would not get through. The summary counts them all the same. */
const maxDetails = 1_000

/** A report on TLS (RFC 8460 4.4), as its JSON has it. */
export function tlsReport({ id, day, organization, contact }: ReportFacts, counted: readonly CountedSessions[]) {
  const { beginsAt, endsAt } = spanOf(day)
  const byPolicy = Map.groupBy(counted, ({ policy }) => JSON.stringify(policy))
  return {
    'organization-name': organization,
    'date-range': { 'start-datetime': timeAt(beginsAt), 'end-datetime': timeAt(endsAt) },
    'contact-info': contact,
    'report-id': id,
    policies: [...byPolicy.values()].map(policyReport),
  }
}

/** To the second, as the examples of RFC 8460 have it. */
const timeAt = (at: number): string => isoTime(at).replace('.000Z', 'Z')

function policyReport(counted: readonly CountedSessions[]) {
  const { type, strings, domain, mxHosts } = (counted[0] as CountedSessions).policy
  const failed = counted.flatMap(({ failure, sessions }) => (failure ? [{ ...failure, sessions }] : []))
  const details = failed.toSorted((a, b) => b.sessions - a.sessions).slice(0, maxDetails)
  return {
    policy: {
      'policy-type': type,
      ...(strings.length > 0 && { 'policy-string': strings.slice(0, maxStrings) }),
      'policy-domain': domain,
      ...(mxHosts.length > 0 && { 'mx-host': mxHosts.slice(0, maxStrings) }),
    },
    summary: {
      'total-successful-session-count': sessionsIn(counted.filter(({ failure }) => !failure)),
      'total-failure-session-count': sessionsIn(failed),
    },
    ...(details.length > 0 && {
      'failure-details': details.map(({ type: resultType, reason, mxHost, address, sourceAddress, sessions }) => ({
        'result-type': resultType,
        ...(sourceAddress !== null && { 'sending-mta-ip': sourceAddress }),
        'receiving-mx-hostname': mxHost,
        'receiving-ip': address,
        'failed-session-count': sessions,
        ...(reason !== '' && { 'failure-reason-code': reason }),
      })),
    }),
  }
}

export const sessionsIn = (counted: readonly { sessions: number }[]): number => counted.reduce((sum, { sessions }) => sum + sessions, 0)
