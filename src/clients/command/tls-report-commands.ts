import type { sentTlsReport } from '../../api/resource/tls-report-operations.ts'
import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import type { Command } from './command.ts'

export const tlsReportCommands: Command[] = [
  apiCommand<{ data: ReturnType<typeof sentTlsReport.answer>[] }>({
    name: 'tls-reports list',
    does: 'tls_reports.list',
    of: serverWide,
    columns: {
      ID: ({ id }) => id,
      DATE: ({ date }) => date,
      DOMAIN: ({ domain }) => domain,
      STATUS: ({ status }) => status,
      SESSIONS: ({ sessions }) => String(sessions),
      FAILURES: ({ failures }) => String(failures),
      TO: ({ destinations }) => destinations.map(({ uri }) => uri).join(','),
    },
  }),
  apiCommand({ name: 'tls-reports show', does: 'tls_reports.get', args: { REPORT: 'id' }, of: serverWide }),
  apiCommand({ name: 'tls-reports send', does: 'tls_reports.send', args: { REPORT: 'id' }, of: serverWide }),
]
