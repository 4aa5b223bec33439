import { useState } from 'preact/hooks'
import { useAll, useApi } from '../api/cache.ts'
import type { DomainReport, DomainReportRow, List } from '../api/types.ts'
import { number, shortDate } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Answer, Empty } from './answer.tsx'
import { Icon } from './icon.tsx'
import { Panel, Scroll } from './page.tsx'
import { Paging } from './paging.tsx'
import { Rows, type Column } from './rows.tsx'

/** The reports themselves, each with its rows when it is opened. `path` is that of the domain. */
export function ReportList({ path, since, after }: { path: string; since: string; after: string | null }) {
  const list = useApi<List<DomainReport>>(`${path}/reports?limit=50&since=${since}${after === null ? '' : `&after=${after}`}`)
  return (
    <Panel heading={t.reports.list}>
      <Answer of={list}>
        {({ data, has_more: hasMore }) => (
          <>
            {data.length === 0 ? <Empty text={t.reports.none} /> : <Rows rows={data} columns={columns(path)} keyOf={({ id }) => id} />}
            <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
          </>
        )}
      </Answer>
    </Panel>
  )
}

const columns = (path: string): Column<DomainReport>[] => [
  {
    head: t.reports.reporter,
    kind: 'title',
    cell: ({ id, reporter }) => (
      <>
        {reporter}
        <ReportRows path={`${path}/reports/${id}/rows`} name={reporter} />
      </>
    ),
  },
  { head: t.reports.kind, cell: ({ kind }) => t.reports.kinds[kind] ?? kind },
  { head: t.reports.day, kind: 'quiet', cell: ({ start_date: at }) => <time dateTime={at}>{shortDate(at)}</time> },
  { head: t.reports.messages, kind: 'number', cell: ({ total }) => number(total) },
  { head: t.reports.failed, kind: 'number', cell: ({ failed }) => (failed === 0 ? '—' : number(failed)) },
]

function ReportRows({ path, name }: { path: string; name: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        {t.reports.rows}
      </summary>
      {isOpen && <RowsOf path={path} name={name} />}
    </details>
  )
}

function RowsOf({ path, name }: { path: string; name: string }) {
  const rows = useAll<DomainReportRow>(path)
  return (
    <Answer of={rows} rows={2}>
      {({ data }) => (
        <Scroll name={name}>
          <table class="tight">
            <tbody>
              {data.map((row) => (
                <tr key={row.place}>
                  <th scope="row">{row.object === 'dmarc_row' ? row.ip_address : (row.receiving_mx ?? '—')}</th>
                  <td>{row.object === 'dmarc_row' ? dmarcInWords(row) : (t.reports.tlsResults[row.result_type] ?? row.result_type)}</td>
                  <td class="num">{number(row.object === 'dmarc_row' ? row.messages : row.sessions)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Answer>
  )
}

const dmarcInWords = (row: Extract<DomainReportRow, { object: 'dmarc_row' }>): string =>
  row.dkim_aligned || row.spf_aligned
    ? t.reports.passedBy([...(row.dkim_aligned ? ['DKIM'] : []), ...(row.spf_aligned ? ['SPF'] : [])])
    : t.reports.didNotPass(t.reports.dispositions[row.disposition] ?? row.disposition)
