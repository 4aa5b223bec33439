import type { DomainRecord } from '../api/types.ts'
import { dayMonth } from '../format.ts'
import { t } from '../texts/texts.ts'
import { CopyValue } from './controls.tsx'
import { Icon } from './icon.tsx'
import { State } from './state.tsx'

type Purpose = 'dkim' | 'dkim2' | 'spf' | 'mx' | 'dmarc' | 'tracking'

export function purposeOf({ record, type, value }: DomainRecord): Purpose {
  if (record === 'DKIM') return value.includes('k=ed25519') ? 'dkim2' : 'dkim'
  if (record === 'SPF') return type === 'MX' ? 'mx' : 'spf'
  return record === 'DMARC' ? 'dmarc' : 'tracking'
}

/** Mail cannot leave without these. */
export const isNeeded = (record: DomainRecord): boolean => ['dkim', 'spf', 'mx'].includes(purposeOf(record)) && record.keep_until === null

/** What is asked for at most DNS providers: the name without the domain. */
export const hostOf = ({ name }: DomainRecord, domain: string): string => hostWithin(name, domain)

export function hostWithin(name: string, domain: string): string {
  if (name === domain) return '@'
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : name
}

const statusOf = ({ status, found }: DomainRecord): string => {
  if (status === 'verified') return 'found'
  if (status === 'temporary_failure' || status === 'not_started') return status
  return found === null ? 'missing' : 'differs'
}

/** A record to publish, with what was found in its place; one that was found folds to a line. */
export function DnsRecord({ record, domain }: { record: DomainRecord; domain: string }) {
  const purpose = purposeOf(record)
  const title = t.domain.purposes[purpose] ?? record.record
  const host = hostOf(record, domain)
  if (record.status === 'verified') {
    return (
      <li class="rec done">
        <h3>{title}</h3>
        <details>
          <summary>
            <Icon name="right" />
            {t.domain.at(record.type, host)}
          </summary>
          <Values record={record} host={host} title={title} />
        </details>
        <State of="found" />
      </li>
    )
  }
  return (
    <li class="rec">
      <div>
        <h3>{title}</h3>
        <State of={statusOf(record)} />
      </div>
      <Values record={record} host={host} title={title} />
    </li>
  )
}

function Values({ record, host, title }: { record: DomainRecord; host: string; title: string }) {
  const { type, priority, value, found, status, keep_until: keepUntil } = record
  const differs = status !== 'verified' && found !== null
  return (
    <dl>
      <dt>{t.domain.type}</dt>
      <dd class="plain">{type === 'MX' ? t.domain.mxType(priority ?? 10) : type}</dd>
      <dt>{t.domain.host}</dt>
      <dd>
        <CopyValue value={host} name={`${t.domain.host}, ${title}`} />
      </dd>
      <dt>{t.domain.value}</dt>
      <dd>
        <CopyValue value={value} name={`${t.domain.value}, ${title}`} oneLine={value.length > 100} />
      </dd>
      {differs && (
        <>
          <dt>{t.domain.found}</dt>
          <dd class="found">
            <code>{found}</code>
          </dd>
        </>
      )}
      <dd class="why">
        {t.domain.why[purposeOf(record)]} {differs && t.domain.differs} {keepUntil !== null && t.domain.keepUntil(dayMonth(keepUntil))}
      </dd>
    </dl>
  )
}
