import { useAll } from '../api/cache.ts'
import type { DomainReport, DomainReportRow } from '../api/types.ts'
import { number, shortDate } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { ListRows, useList } from './list-page.tsx'
import { Panel, Unfold } from './page.tsx'
import { Figures, type Column } from './rows.tsx'

/** The reports themselves, each with its rows when it is opened. `path` is that of the domain. */
export const ReportList = ({ path, since, query }: { path: string; since: string; query: URLSearchParams }) => (
  <Panel heading={t.nav.reports}>
    <ListRows
      list={useList<DomainReport>(`${path}/reports?since=${since}`, query)}
      query={query}
      columns={columns(path)}
      none={t.reports.none}
    />
  </Panel>
)

const columns = (path: string): Column<DomainReport>[] => [
  {
    head: t.reports.reporter,
    kind: 'title',
    cell: ({ id, reporter }) => (
      <>
        {reporter}
        <Unfold word={t.reports.contents}>{() => <RowsOf path={`${path}/reports/${id}/rows`} name={reporter} />}</Unfold>
      </>
    ),
  },
  { head: t.reports.about, cell: ({ kind }) => t.reports.kinds[kind] ?? kind },
  { head: t.reports.day, kind: 'quiet', cell: ({ start_date: at }) => <time dateTime={at}>{shortDate(at)}</time> },
  { head: t.reports.messages, kind: 'number', cell: ({ total }) => number(total) },
  { head: t.reports.failed, kind: 'number', cell: ({ failed }) => (failed === 0 ? '—' : number(failed)) },
]

function RowsOf({ path, name }: { path: string; name: string }) {
  const rows = useAll<DomainReportRow>(path)
  return (
    <Answer of={rows} rows={2}>
      {({ data }) => <Figures name={name} rows={data} columns={rowColumns} keyOf={({ place }) => String(place)} />}
    </Answer>
  )
}

const rowColumns: Column<DomainReportRow>[] = [
  { head: '', kind: 'title', cell: (row) => (row.object === 'dmarc_row' ? row.ip_address : (row.receiving_mx ?? '—')) },
  {
    head: '',
    cell: (row) => (row.object === 'dmarc_row' ? dmarcInWords(row) : (t.reports.tlsResults[row.result_type] ?? row.result_type)),
  },
  { head: '', kind: 'number', cell: (row) => number(row.object === 'dmarc_row' ? row.messages : row.sessions) },
]

const dmarcInWords = (row: Extract<DomainReportRow, { object: 'dmarc_row' }>): string =>
  row.dkim_aligned || row.spf_aligned
    ? t.reports.passedBy([...(row.dkim_aligned ? ['DKIM'] : []), ...(row.spf_aligned ? ['SPF'] : [])])
    : t.reports.didNotPass(t.reports.dispositions[row.disposition] ?? row.disposition)
