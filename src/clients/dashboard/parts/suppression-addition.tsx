import { useState } from 'preact/hooks'
import { addSuppressions, type RefusedAddress } from '../add-suppressions.ts'
import { t } from '../texts/texts.ts'
import { Fault } from './answer.tsx'
import { Dialog } from './dialog.tsx'
import { Field, Labelled } from './fields.tsx'
import { Refused } from './refused-addresses.tsx'

/** Suppresses one address or several; those that are refused stay in the field. */
export function AddSuppressions({ onDone, onClose }: { onDone(): Promise<unknown>; onClose(): void }) {
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [refused, setRefused] = useState<RefusedAddress[]>([])
  const given = typed.split('\n').flatMap((text, place) => addressesOf(text).map((address) => ({ line: place + 1, address })))
  const add = async (): Promise<boolean> => {
    const added = await addSuppressions(given, reason.trim())
    await onDone()
    setRefused(added.refused)
    setTyped(added.refused.map(({ address }) => address).join('\n'))
    return added.refused.length === 0
  }
  return (
    <Dialog heading={t.suppressions.add} button={t.common.add} run={add} onClose={onClose} disabled={given.length === 0}>
      <p>{t.suppressions.addText}</p>
      <Labelled name="email" label={t.suppressions.addresses}>
        {(attributes) => (
          <textarea
            class="field"
            rows={4}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            spellcheck={false}
            {...attributes}
          />
        )}
      </Labelled>
      <Field name="reason" label={t.suppressions.reasonLabel} value={reason} onValue={setReason} maxLength={1_000} />
      {refused.length > 0 && (
        <>
          <Fault text={t.suppressions.someRefused(refused.length)} />
          <Refused rows={refused} />
        </>
      )}
    </Dialog>
  )
}

const addressesOf = (text: string): string[] => text.split(/[\s,;]+/).filter((word) => word !== '')
