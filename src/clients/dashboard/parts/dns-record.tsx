import type { ComponentChildren } from 'preact'
import type { DomainRecord } from '../api/types.ts'
import { shortDate } from '../format.ts'
import { t } from '../texts/texts.ts'
import { CopyValue, CopyFact } from './controls.tsx'
import { Unfold } from './page.tsx'
import { State } from './state.tsx'

type Purpose = 'dkim' | 'dkim2' | 'spf' | 'mx' | 'dmarc' | 'tracking'

function purposeOf({ record, type, value }: DomainRecord): Purpose {
  if (record === 'DKIM') return value.includes('k=ed25519') ? 'dkim2' : 'dkim'
  if (record === 'SPF') return type === 'MX' ? 'mx' : 'spf'
  return record === 'DMARC' ? 'dmarc' : 'tracking'
}

/** What the record is for, in words. */
export const purposeText = (record: DomainRecord): string => t.domain.purposes[purposeOf(record)] ?? record.record

/** A name as most DNS providers ask for it: without the zone that it goes into. */
export function hostWithin(name: string, zone: string): string {
  if (name === zone) return '@'
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name
}

export const isFound = ({ status }: DomainRecord): boolean => status === 'verified'

/** The word for what the last look showed. */
function statusOf({ status, reason }: DomainRecord): string {
  if (status === 'verified') return 'found'
  if (status === 'temporary_failure' || status === 'not_started') return status
  return reason ?? 'missing'
}

/** A record to publish, with what was found in its place; one that was found folds to a line. */
export function DnsRecord({ record, zone }: { record: DomainRecord; zone: string }) {
  const title = purposeText(record)
  if (isFound(record)) {
    return (
      <li class="rec done">
        <h3>{title}</h3>
        <Unfold word={t.domain.at(record.type, record.host)}>{() => <Values record={record} zone={zone} title={title} />}</Unfold>
        <State of={record.key === 'retired' ? 'retired' : 'found'} />
      </li>
    )
  }
  return (
    <li class="rec">
      <div>
        <h3>{title}</h3>
        <State of={statusOf(record)} />
      </div>
      <Values record={record} zone={zone} title={title} />
    </li>
  )
}

/** A record as one enters it, each part to copy; `title` tells it from others on the page. */
export const RecordFacts = ({ record: { type, priority = 10, host, value }, title, children, below }: RecordFrame) => (
  <dl>
    <dt>{t.domain.type}</dt>
    <dd class="plain">{type === 'MX' ? t.domain.mxType(priority) : type}</dd>
    <dt>{t.domain.host}</dt>
    <dd>
      <CopyValue value={host} name={`${t.domain.host}, ${title}`} />
      {below}
    </dd>
    <CopyFact name={t.domain.value} of={title} value={value} oneLine={value.length > 100} />
    {children}
  </dl>
)

interface RecordFrame {
  record: { type: string; priority?: number | undefined; host: string; value: string }
  title: string
  /** Below the host. */
  below?: ComponentChildren
  children?: ComponentChildren
}

function Values({ record, zone, title }: { record: DomainRecord; zone: string; title: string }) {
  const { name, found, keep_until: keepUntil } = record
  const fullName = <Unfold word={t.domain.fullName}>{() => <CopyValue value={name} name={`${t.domain.fullName}, ${title}`} />}</Unfold>
  return (
    <RecordFacts record={record} title={title} below={fullName}>
      {!isFound(record) && found !== null && (
        <>
          <dt>{t.status.found}</dt>
          <dd class="found">
            <code>{found}</code>
          </dd>
        </>
      )}
      <dd class="why">
        {t.domain.why[purposeOf(record)]} {whatToDo(record, zone)} {keepUntil !== null && t.domain.keepUntil(shortDate(keepUntil))}
      </dd>
    </RecordFacts>
  )
}

/** What is wrong with what was found, and what to change. */
function whatToDo(record: DomainRecord, zone: string): string {
  if (isFound(record)) return ''
  switch (record.reason) {
    case 'several':
      return record.record === 'SPF' ? t.domain.several : t.domain.severalOther
    case 'quoted':
      return t.domain.quoted
    case 'doubled_name':
      return t.domain.doubled(`${record.name}.${zone}`, record.host)
    case 'unreachable':
      return t.domain.unreachable
    case 'differs': {
      const [mechanism] = record.value.split(' ').slice(1)
      const isSpf = /(?:^|\n)\s*v=spf1/i.test(record.found ?? '')
      return purposeOf(record) === 'spf' && isSpf && mechanism !== undefined ? t.domain.differsSpf(mechanism) : t.domain.differs
    }
    default:
      return ''
  }
}
