/** What was examined. */
export const checkNames = [
  'resolver',
  'dnssec',
  'port_25',
  'host_name',
  'reverse_dns',
  'return_path',
  'reachable',
  'open_relay',
  'domain',
  'certificate',
  'base_url',
  'clock',
  'disk',
  'data_directory',
  'key_file',
  'open_files',
  'database',
  'dnsbl',
] as const
export type CheckName = (typeof checkNames)[number]

/** `failed`: it makes mail get lost, refused or taken for spam. `skipped`: it could not be examined. */
export const findingStatuses = ['ok', 'warning', 'failed', 'skipped'] as const
type FindingStatus = (typeof findingStatuses)[number]

/** The state of one thing that an operator of a mail server must get right. */
export interface Finding {
  check: CheckName
  status: FindingStatus
  /** What we found, in a sentence. */
  what: string
  /** What to do about it; null if there is nothing to do. */
  advice: string | null
}

/** Reports the state of what one check examines. */
interface Say {
  ok(what: string): Finding
  warning(what: string, advice: string): Finding
  failed(what: string, advice: string): Finding
  skipped(what: string, advice: string): Finding
}

export const sayOf = (check: CheckName): Say => ({
  ok: (what) => ({ check, status: 'ok', what, advice: null }),
  warning: (what, advice) => ({ check, status: 'warning', what, advice }),
  failed: (what, advice) => ({ check, status: 'failed', what, advice }),
  skipped: (what, advice) => ({ check, status: 'skipped', what, advice }),
})

/** The worst status; skipped checks do not count. */
export const worstOf = (findings: Finding[]): 'ok' | 'warning' | 'failed' =>
  (['failed', 'warning'] as const).find((status) => findings.some((finding) => finding.status === status)) ?? 'ok'
