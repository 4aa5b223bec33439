import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { FeedbackDetail } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Icon } from './icon.tsx'

/** What a returned message says, read when it is opened. Nobody vouches for it. */
export function FeedbackReading({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        {t.reports.contents}
      </summary>
      {isOpen && <Reading id={id} />}
    </details>
  )
}

function Reading({ id }: { id: string }) {
  const detail = useApi<FeedbackDetail>(`/api/feedback/${id}`)
  return (
    <Answer of={detail} rows={2}>
      {({ reading, heading, fault, address, size, tls }) => (
        <dl class="facts">
          {reading && (
            <>
              <dt>{t.reports.class}</dt>
              <dd>{t.reports.classes[reading.class] ?? reading.class}</dd>
              <dt>{t.common.subject}</dt>
              <dd>{reading.subject}</dd>
              {reading.reported_by !== null && (
                <>
                  <dt>{t.reports.reportedBy}</dt>
                  <dd>{reading.reported_by}</dd>
                </>
              )}
              {reading.recipients.map((recipient, place) => (
                <RecipientFacts key={place} recipient={recipient} />
              ))}
            </>
          )}
          {heading && (
            <>
              <dt>{t.common.from}</dt>
              <dd>{heading.from}</dd>
              <dt>{t.common.subject}</dt>
              <dd>{heading.subject}</dd>
            </>
          )}
          {fault !== null && (
            <>
              <dt>{t.reports.fault}</dt>
              <dd>{fault}</dd>
            </>
          )}
          <dt>{t.reports.cameTo}</dt>
          <dd>
            {address}, {t.reports.bytes(size)}, {tls ? t.reports.withTls : t.reports.withoutTls}
          </dd>
        </dl>
      )}
    </Answer>
  )
}

type Recipient = NonNullable<FeedbackDetail['reading']>['recipients'][number]

const RecipientFacts = ({ recipient: { address, action, hard, category, reason } }: { recipient: Recipient }) => (
  <>
    <dt>{address ?? t.reports.noAddress}</dt>
    <dd>
      {t.reports.actions[action] ?? action}
      {action === 'failed' && `, ${t.email.bounceType[hard ? 'hard' : 'soft']}: ${t.causes[category] ?? category}`}
      {reason !== '' && (
        <>
          {' '}
          <code>{reason}</code>
        </>
      )}
    </dd>
  </>
)
