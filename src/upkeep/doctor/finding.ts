import { type Given, wordWith, type Worded } from '../../platform/wording.ts'
import { findingWordings } from './finding-wordings.ts'

/** What was examined. */
export const checkNames = [
  'node',
  'resolver',
  'dnssec',
  'port_25',
  'smarthost',
  'host_name',
  'reverse_dns',
  'return_path',
  'reachable',
  'open_relay',
  'domain',
  'account',
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

type FindingCode = keyof typeof findingWordings

/** The state of one thing that an operator of a mail server must get right: what we found, and what to do about it. */
export interface Finding extends Worded<FindingCode> {
  check: CheckName
  status: FindingStatus
}

const word = wordWith(findingWordings)

/** Reports the state of what one check examines. */
export const sayOf = (check: CheckName) => {
  const say =
    (status: FindingStatus) =>
    <Code extends FindingCode>(code: Code, ...given: Given<(typeof findingWordings)[Code]>): Finding => ({
      check,
      status,
      ...word<Code>(code, ...given),
    })
  return { ok: say('ok'), warning: say('warning'), failed: say('failed'), skipped: say('skipped') }
}

/** The worst status; skipped checks do not count. */
export const worstOf = (findings: Finding[]): 'ok' | 'warning' | 'failed' =>
  (['failed', 'warning'] as const).find((status) => findings.some((finding) => finding.status === status)) ?? 'ok'
