import { z } from 'zod'
import { adviceSteps, adviseDmarc, sourceOrigins, type DmarcAdvice, type SourceOrigin } from '../../mail-back/domain-report/dmarc-advice.ts'
import { dmarcReasonWordings } from '../../mail-back/domain-report/dmarc-reason-wordings.ts'
import type { ReportPeriod } from '../../mail-back/domain-report/domain-report-list.ts'
import {
  maxLines,
  type DmarcSummary,
  type ReporterLine,
  type ReportTotals,
  type SourceLine,
  type TlsSummary,
} from '../../mail-back/domain-report/domain-report-summary.ts'
import { observeDomain, originOf, type PublishedPolicy } from '../../mail-back/domain-report/observe-domain.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { dmarcPolicies, withPolicy, type DmarcFault } from '../../senders/sending-domain/dmarc-record.ts'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import { authResults, policyType, resultType } from './domain-report-resource.ts'
import { codeFields } from './worded-answer.ts'

/** What was reported about a domain in a period. */
interface Summarized<S = { totals: ReportTotals; reporters: ReporterLine[] }> {
  domain: Domain
  period: ReportPeriod
  summary: S
}

/** A record for the domain's owner to publish. */
const textRecord = z.object({ name: z.string(), type: z.literal('TXT'), value: z.string() }).meta({ id: 'TextRecord' })
type TextRecord = z.output<typeof textRecord>

const domainReporter = resource<ReporterLine>('DomainReporter')({
  name: [z.string(), 'reporter'],
  reports: z.int(),
  total: z.int(),
  failed: z.int(),
})

const frame = {
  domain_id: [z.string(), ({ domain }: Summarized) => domain.id],
  domain: [z.string(), ({ domain }: Summarized) => domain.name],
  start_date: [timeAnswer, ({ period }: Summarized) => isoTime(period.since)],
  end_date: [timeAnswer, ({ period }: Summarized) => isoTime(period.until)],
  reports: [z.int(), ({ summary }: Summarized) => summary.totals.reports],
} as const
const total = [z.int(), ({ summary }: Summarized) => summary.totals.total] as const
/** How many passed of all: rounded to four decimal places; 0 if there are none. */
const passRate = [
  z.number(),
  ({ summary: { totals } }: Summarized) =>
    totals.total === 0 ? 0 : Math.round(((totals.total - totals.failed) / totals.total) * 10_000) / 10_000,
] as const
const reporters = [
  z.array(domainReporter.schema).describe('Who reported, by their own claim.'),
  ({ summary }: Summarized) => summary.reporters.map(domainReporter.answer),
] as const

const dmarcSource = resource<SourceLine & { origin: SourceOrigin }>('DmarcSource')({
  ip_address: [z.string(), 'source_ip'],
  origin: z
    .enum(sourceOrigins)
    .describe(
      '`ours`: an address of this server; `forwarder`: it forwards mail that was signed here; `other`: its mail shows no sign of ' +
        'this server.',
    ),
  messages: z.int(),
  failed: z.int().describe('Passed DMARC neither through DKIM nor through SPF.'),
  dkim_aligned: z.int(),
  spf_aligned: z.int(),
  quarantined: z.int(),
  rejected: z.int(),
  header_from: z
    .string()
    .describe('The domain of the From field, from a failed message if there is one; the same goes for `dkim` and `spf`.'),
  ...authResults,
})

const adviceSchema = z
  .object({
    step: z
      .enum(adviceSteps)
      .describe('`repair`: what is published has no effect; `tighten`: the domain is ready for a stricter policy; `keep`: there is none.'),
    policy: z.enum(dmarcPolicies).nullable().describe('The policy to publish next.'),
    record: textRecord
      .nullable()
      .describe(
        'The record to publish for it; null if nothing should change, if one of several should stay, or if the policy is that of a parent ' +
          'domain.',
      ),
    reasons: z.array(z.string()),
    reason_codes: z.array(z.object(codeFields(dmarcReasonWordings))).describe('What each of `reasons` says, in the same order.'),
    fix: z.array(z.string()).describe('The addresses of the sources to look at first.'),
  })
  .meta({ id: 'DmarcAdvice' })

interface SummarizedDmarc extends Summarized<DmarcSummary> {
  published: PublishedPolicy | DmarcFault
  advice: DmarcAdvice
  /** The addresses that this server's mail leaves from. */
  ownAddresses: ReadonlySet<string>
  /** The DMARC record for a domain that has none yet. */
  firstRecord: string
}

const dmarcSummary = resource<SummarizedDmarc>('DmarcSummary')({
  object: 'dmarc_summary',
  ...frame,
  policy: [
    z.enum(dmarcPolicies).nullable().describe('As published; null if no policy was found.'),
    ({ published }) => ('fault' in published ? null : published.policy),
  ],
  record: [
    z.string().nullable().describe('The record at the name of the domain, as the last check found it.'),
    ({ published }) => ('fault' in published ? null : published.text),
  ],
  messages: total,
  passed: [z.int(), ({ summary: { totals } }) => totals.total - totals.failed],
  pass_rate: passRate,
  reporters,
  sources: [
    z.array(dmarcSource.schema).describe(`The ${maxLines} with the most failures, then those with the most messages.`),
    ({ summary, ownAddresses }) => summary.lines.map((line) => dmarcSource.answer({ ...line, origin: originOf(line, ownAddresses) })),
  ],
  advice: [adviceSchema, adviceObject],
})
export const dmarcSummaryAnswer = dmarcSummary.schema

/** The summary of the DMARC reports of a period. */
export function dmarcSummaryObject(
  summarized: Summarized<DmarcSummary> & { firstRecord: string },
  ownAddresses: string[],
): ReturnType<typeof dmarcSummary.answer> {
  const { published, ...observation } = observeDomain(summarized.domain, summarized.summary, ownAddresses)
  const advice = adviseDmarc({ ...observation, published })
  return dmarcSummary.answer({ ...summarized, published, advice, ownAddresses: new Set(ownAddresses) })
}

function adviceObject({ domain, advice, published, firstRecord }: SummarizedDmarc): z.input<typeof adviceSchema> {
  const text = textFor(advice, published, firstRecord)
  return {
    step: advice.step,
    policy: advice.policy,
    record: text === null ? null : { name: `_dmarc.${domain.name}`, type: 'TXT', value: text },
    reasons: advice.reasons.map(({ what }) => what),
    reason_codes: advice.reasons.map(({ code, parameters }) => ({ code, parameters })),
    fix: advice.fix.map(({ sourceIp }) => sourceIp),
  }
}

/** The record to publish; null if nothing should change, if one of several should stay, or if it must change at a parent domain. */
function textFor({ policy }: DmarcAdvice, published: PublishedPolicy | DmarcFault, firstRecord: string): string | null {
  if ('fault' in published) return published.fault === 'missing' ? firstRecord : 'text' in published ? published.text : null
  if (policy === null) return null
  return published.text === null ? null : withPolicy(published.text, policy)
}

const tlsResult = resource<TlsSummary['lines'][number]>('TlsResult')({
  policy_type: policyType,
  result_type: resultType,
  receiving_mx: z.string().nullable(),
  sessions: z.int(),
})

export const tlsSummary = resource<Summarized<TlsSummary> & { record: TextRecord | null }>('TlsSummary')({
  object: 'tls_summary',
  ...frame,
  sessions: total,
  failed: [z.int(), ({ summary }) => summary.totals.failed],
  success_rate: passRate,
  reporters,
  results: [z.array(tlsResult.schema).describe('Failures first.'), ({ summary }) => summary.lines.map(tlsResult.answer)],
  record: textRecord.nullable().describe('The record that requests such reports for this server; null if it accepts none.'),
})
