import { parseIsoTime } from '../../platform/iso-time.ts'
import { JsonShape } from '../../platform/json-shape.ts'
import { maxRows, ReportFault, type TlsReport, type TlsRow } from './domain-report.ts'
import { countField, domainField, neededText, rangeOf, shortText, sumOf } from './report-field.ts'
import { withoutRepetition } from './report-rows.ts'

/** Policies per report, and failures per policy. */
const [maxPolicies, maxFailures] = [100, 10_000]
/** Reports are five levels deep, and have some twenty values per failure. */
const bounds = { deepest: 16, maxValues: 400_000 }

/**
 * Parses a TLS report (RFC 8460 4.4) into one report per domain. Usually there is only one domain.
 * @throws ReportFault
 */
export function parseTlsReport(text: string): TlsReport[] {
  const report = objectIn(parsed(text), 'report')
  const range = objectIn(report['date-range'], 'date-range')
  const frame = {
    reporter: neededText(textIn(report['organization-name']), 'organization-name'),
    contact: shortText(textIn(report['contact-info'])),
    reportId: neededText(textIn(report['report-id']), 'report-id'),
    ...rangeOf(timeIn(range['start-datetime']), timeIn(range['end-datetime'])),
  }
  const policies = listIn(report['policies'], 'policies').slice(0, maxPolicies).map(policyIn)
  if (policies.length === 0) throw new ReportFault('The report has no policies.')
  const domains = [...new Set(policies.map(({ domain }) => domain))]
  return domains.map((domain) => {
    const rows = withoutRepetition(
      policies.filter((policy) => policy.domain === domain).flatMap((policy) => policy.rows),
      'sessions',
    )
    const failed = rows.filter(({ resultType }) => resultType !== 'success')
    return {
      kind: 'tls' as const,
      ...frame,
      domain,
      sessions: sumOf(sessionsOf(rows)),
      failures: sumOf(sessionsOf(failed)),
      rows: rows.toSorted((a, b) => b.sessions - a.sessions).slice(0, maxRows),
      rowsLeftOut: Math.max(0, rows.length - maxRows),
    }
  })
}

const sessionsOf = (rows: TlsRow[]): number[] => rows.map(({ sessions }) => sessions)

type JsonObject = Record<string, unknown>

function parsed(text: string): unknown {
  const fault = new JsonShape(bounds).add(Buffer.from(text))
  if (fault !== null) throw new ReportFault(fault)
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    throw new ReportFault('The report is not valid JSON.')
  }
}

function objectIn(value: unknown, field: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw new ReportFault(`The ${field} is missing or not an object.`)
}

function listIn(value: unknown, field: string): unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new ReportFault(`The ${field} is not a list.`)
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null)

/** A time without an offset is UTC. */
function timeIn(value: unknown): number {
  const text = textIn(value)?.trim() ?? ''
  return parseIsoTime(text) ?? parseIsoTime(`${text}Z`) ?? NaN
}

function policyIn(value: unknown): { domain: string; rows: TlsRow[] } {
  const member = objectIn(value, 'policy')
  const policy = objectIn(member['policy'], 'policy')
  const summary = objectIn(member['summary'], 'summary')
  const policyType = wordIn(policy['policy-type']) ?? 'no-policy-found'
  const failed = countIn(summary['total-failure-session-count'], 'total-failure-session-count')
  const failures = listIn(member['failure-details'], 'failure-details')
    .slice(0, maxFailures)
    .map((detail) => failureIn(detail, policyType))
  const bare: TlsRow = {
    policyType,
    resultType: 'success',
    sessions: 0,
    sendingMta: null,
    receivingMx: null,
    receivingIp: null,
    reason: null,
  }
  const rows: TlsRow[] = [
    { ...bare, sessions: countIn(summary['total-successful-session-count'], 'total-successful-session-count') },
    // Failures that the summary counts, but the details omit.
    { ...bare, resultType: 'unspecified', sessions: Math.max(0, failed - sumOf(sessionsOf(failures))) },
    ...failures,
  ]
  return { domain: domainField(textIn(policy['policy-domain']), 'policy-domain'), rows: rows.filter(({ sessions }) => sessions > 0) }
}

function failureIn(value: unknown, policyType: string): TlsRow {
  const detail = objectIn(value, 'failure-details')
  const resultType = wordIn(detail['result-type']) ?? 'unspecified'
  return {
    policyType,
    resultType: resultType === 'success' ? 'unspecified' : resultType,
    sessions: countIn(detail['failed-session-count'], 'failed-session-count'),
    sendingMta: shortText(textIn(detail['sending-mta-ip'])),
    receivingMx: shortText(textIn(detail['receiving-mx-hostname'])),
    receivingIp: shortText(textIn(detail['receiving-ip'])),
    reason: shortText(textIn(detail['failure-reason-code'])),
  }
}

const wordIn = (value: unknown): string | null => shortText(textIn(value))?.toLowerCase().slice(0, 100) ?? null

const countIn = (value: unknown, field: string): number => countField(typeof value === 'number' ? value : textIn(value), field)
