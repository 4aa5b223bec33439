import { t } from '../texts/texts.ts'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'ok' | 'wait' | 'bad' | 'quiet'

const looks: Record<string, [Tone, IconName]> = {
  delivered: ['ok', 'ok'],
  verified: ['ok', 'ok'],
  found: ['ok', 'ok'],
  enabled: ['ok', 'ok'],
  success: ['ok', 'ok'],
  active: ['ok', 'ok'],
  ok: ['ok', 'ok'],
  published: ['ok', 'ok'],
  draft: ['quiet', 'doc'],
  unpublished: ['wait', 'part'],
  unsaved: ['wait', 'wait'],
  processing: ['wait', 'wait'],
  deferred: ['wait', 'wait'],
  sent: ['wait', 'wait'],
  pending: ['wait', 'wait'],
  missing: ['wait', 'wait'],
  warning: ['wait', 'warn'],
  held: ['wait', 'wait'],
  suspended: ['wait', 'wait'],
  invited: ['wait', 'wait'],
  skipped: ['quiet', 'off'],
  partially_delivered: ['wait', 'part'],
  bounced: ['bad', 'bad'],
  failed: ['bad', 'bad'],
  differs: ['bad', 'bad'],
  several: ['bad', 'bad'],
  doubled_name: ['bad', 'bad'],
  unreachable: ['wait', 'wait'],
  retired: ['quiet', 'off'],
  temporary_failure: ['bad', 'bad'],
  complained: ['bad', 'flag'],
  suppressed: ['quiet', 'ban'],
  ours: ['ok', 'ok'],
  forwarder: ['quiet', 'sent'],
  other: ['wait', 'warn'],
  disabled: ['quiet', 'off'],
  canceled: ['quiet', 'off'],
}

const toneOf = (status: string): Tone => looks[status]?.[0] ?? 'quiet'
const iconOf = (status: string): IconName => looks[status]?.[1] ?? 'wait'

/** A status as the API names it: an icon and a word, and a colour third. `word` takes the place of the usual one. */
export const State = ({ of: status, word }: { of: string; word?: string }) => (
  <span class={`st ${toneOf(status)}`}>
    <Icon name={iconOf(status)} />
    {word ?? t.status[status] ?? status}
  </span>
)
