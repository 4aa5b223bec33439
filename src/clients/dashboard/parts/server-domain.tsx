import { useApi } from '../api/cache.ts'
import type { ServerDomain } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { DnsRecord, RecordFacts } from './dns-record.tsx'
import { Panel } from './page.tsx'

/** The records to publish for the name of this server. */
export function ServerDomainRecords() {
  const domain = useApi<ServerDomain>('/api/server/domain')
  // A server without a name in the DNS has none; the checks above say so.
  if (domain.error?.status === 404) return null
  return (
    <Panel heading={t.health.serverDomain} text={t.health.serverDomainText}>
      <Answer of={domain}>
        {({ zone, records, server_records: own }) => (
          <ul>
            {records.map((record) => (
              <DnsRecord key={`${record.name} ${record.value}`} record={record} zone={zone} />
            ))}
            {own.map(({ name: host, type, value, priority }) => (
              <li class="rec" key={`${type} ${host} ${value}`}>
                <div>
                  <h3>{t.health.serverRecords[type] ?? type}</h3>
                </div>
                <RecordFacts record={{ type, priority, host, value }} title={type} />
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  )
}
