import type { Config } from './settings.ts'

/** Whether this server counts TLS sessions and reports on them. */
export const sendsTlsReports = ({ mode, tlsReports }: Pick<Config, 'mode' | 'tlsReports'>): boolean => mode === 'live' && tlsReports.enabled
