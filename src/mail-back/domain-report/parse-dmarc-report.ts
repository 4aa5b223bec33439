import { dmarcPolicies, type DmarcPolicy } from '../../senders/sending-domain/dmarc-record.ts'
import { maxRows, ReportFault, type DmarcReport, type DmarcRow } from './domain-report.ts'
import { childrenOf, readXml, textAt, type XmlElement } from './read-xml.ts'
import { addressField, countField, domainField, neededText, rangeOf, shortText, sumOf } from './report-field.ts'
import { withoutRepetition } from './report-rows.ts'

/** DKIM or SPF results stored per row. */
const maxResults = 5

/**
 * Parses a DMARC aggregate report (RFC 7489 appendix C, RFC 9990 appendix A). Tolerates what receivers send instead: any namespace, no
 * version, several results, unknown elements.
 * @throws ReportFault
 */
export function parseDmarcReport(text: string): DmarcReport {
  const feedback = readXml(text)
  if (feedback.name !== 'feedback')
    throw new ReportFault(`The XML is not a DMARC report: its root element is ${feedback.name.slice(0, 50)}.`)
  const [metadata] = childrenOf(feedback, 'report_metadata')
  const [published] = childrenOf(feedback, 'policy_published')
  const domain = domainField(textAt(published, 'domain'), 'policy_published/domain')
  const records = childrenOf(feedback, 'record')
  if (records.length === 0) throw new ReportFault('The report has no records.')
  const rows = withoutRepetition(
    records.map((record) => rowOf(record, domain)),
    'messages',
  )
  return {
    kind: 'dmarc',
    reporter: neededText(textAt(metadata, 'org_name'), 'report_metadata/org_name'),
    contact: shortText(textAt(metadata, 'email')),
    reportId: neededText(textAt(metadata, 'report_id'), 'report_metadata/report_id'),
    domain,
    ...rangeOf(epochMs(textAt(metadata, 'date_range', 'begin')), epochMs(textAt(metadata, 'date_range', 'end'))),
    policy: policyIn(textAt(published, 'p')),
    messages: sumOf(rows.map(({ messages }) => messages)),
    aligned: sumOf(rows.filter(({ dkimAligned, spfAligned }) => dkimAligned || spfAligned).map(({ messages }) => messages)),
    rows: rows.toSorted((a, b) => b.messages - a.messages).slice(0, maxRows),
    rowsLeftOut: Math.max(0, rows.length - maxRows),
  }
}

/** Seconds should be whole, but some receivers write fractions. */
const epochMs = (seconds: string | undefined): number =>
  /^\d{1,12}(?:\.\d{1,9})?$/.test(seconds ?? '') ? Math.floor(Number(seconds)) * 1000 : NaN

const policyIn = (text: string | undefined): DmarcPolicy | null => dmarcPolicies.find((policy) => policy === text?.toLowerCase()) ?? null

function rowOf(record: XmlElement, domain: string): DmarcRow {
  const [row] = childrenOf(record, 'row')
  const [evaluated] = childrenOf(row, 'policy_evaluated')
  // RFC 9990 says `identifiers`. Some earlier drafts said `identities`.
  const identifiers = childrenOf(record, 'identifiers')[0] ?? childrenOf(record, 'identities')[0]
  const [results] = childrenOf(record, 'auth_results')
  const signatures = childrenOf(results, 'dkim').slice(0, maxResults)
  return {
    sourceIp: addressField(textAt(row, 'source_ip'), 'row/source_ip'),
    messages: countField(textAt(row, 'count'), 'row/count'),
    // `pass` (RFC 9990) means the same as `none`: the policy was not applied.
    disposition: policyIn(textAt(evaluated, 'disposition')) ?? 'none',
    dkimAligned: isPass(textAt(evaluated, 'dkim')),
    spfAligned: isPass(textAt(evaluated, 'spf')),
    overrides: overridesIn(evaluated),
    headerFrom: shortText(textAt(identifiers, 'header_from'))?.toLowerCase() ?? domain,
    envelopeFrom: shortText(textAt(identifiers, 'envelope_from'))?.toLowerCase() ?? null,
    dkim: signatures.map((result) => resultText(result, 'selector')).join(', '),
    spf: childrenOf(results, 'spf')
      .slice(0, maxResults)
      .map((result) => resultText(result))
      .join(', '),
    signatures: signatures.map((signature) => `${word(textAt(signature, 'domain'))} ${word(textAt(signature, 'selector'))}`),
  }
}

const isPass = (text: string | undefined): boolean => text?.toLowerCase() === 'pass'

const overridesIn = (evaluated: XmlElement | undefined): string =>
  [...new Set(childrenOf(evaluated, 'reason').map((reason) => word(textAt(reason, 'type'))))]
    .filter((type) => type !== '')
    .slice(0, maxResults)
    .join(', ')

/** `pass example.com s1` */
const resultText = (result: XmlElement, further?: string): string =>
  [textAt(result, 'result'), textAt(result, 'domain'), further === undefined ? undefined : textAt(result, further)]
    .map(word)
    .filter((text) => text !== '')
    .join(' ')

const word = (text: string | undefined): string =>
  shortText(text)
    ?.replace(/[\s,]+/g, '')
    .toLowerCase()
    .slice(0, 100) ?? ''
