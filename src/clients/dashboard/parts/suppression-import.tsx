import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { addSuppressions, type Added, type GivenAddress } from '../add-suppressions.ts'
import { ApiError } from '../api/client.ts'
import { download, exactCsvOf } from '../download.ts'
import { number } from '../format.ts'
import { addressesIn, readCsv } from '../read-csv.ts'
import { t } from '../texts/texts.ts'
import { Button } from './button.tsx'
import { useModal } from './dialog.tsx'
import { Field, Labelled } from './fields.tsx'
import { Refused } from './refused-addresses.tsx'
import { WithRefusal } from './refused.tsx'

interface Import {
  name: string
  given: GivenAddress[]
}

/** Reads a file in the browser and suppresses the addresses in it, with a report of what was refused. */
export function ImportSuppressions({ onDone, onClose }: { onDone(): Promise<unknown>; onClose(): void }) {
  const dialog = useModal()
  const id = useId()
  const [file, setFile] = useState<Import | null>(null)
  const [reason, setReason] = useState('')
  const run = useImport(file?.given ?? [], reason, onDone)
  const choose = async (chosen: File | undefined): Promise<void> => {
    if (chosen) setFile({ name: chosen.name, given: addressesIn(readCsv(await chosen.text())) })
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={(event) => {
        // Escape must not end what is under way.
        if (run.state === 'running') event.preventDefault()
      }}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          run.start()
        }}
      >
        <h2 id={id}>{t.suppressions.importHeading}</h2>
        <WithRefusal error={run.error}>
          {run.state === 'ready' && (
            <>
              <p>{t.suppressions.importText}</p>
              <Labelled name={null} label={t.suppressions.file}>
                {(attributes) => (
                  <input
                    type="file"
                    accept=".csv,.txt,text/csv,text/plain"
                    onChange={(event) => void choose(event.currentTarget.files?.[0])}
                    {...attributes}
                  />
                )}
              </Labelled>
              <Field name="reason" label={t.suppressions.reasonLabel} value={reason} onValue={setReason} maxLength={1_000} />
              {file && <p role="status">{t.suppressions.found(file.given.length, file.name)}</p>}
            </>
          )}
          {run.state !== 'ready' && <Progress added={run.added} of={file?.given.length ?? 0} state={run.state} />}
        </WithRefusal>
        <Buttons run={run} disabled={(file?.given.length ?? 0) === 0} onClose={onClose} />
      </form>
    </dialog>
  )
}

type State = 'ready' | 'running' | 'stopped' | 'done'

function useImport(given: readonly GivenAddress[], reason: string, onDone: () => Promise<unknown>) {
  const [state, setState] = useState<State>('ready')
  const [added, setAdded] = useState<Added>({ done: 0, refused: [] })
  const [error, setError] = useState<ApiError | null>(null)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => () => stop.current?.abort(), [])
  useEffect(() => {
    if (state !== 'running') return
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [state])
  const start = (): void => {
    const controller = new AbortController()
    stop.current = controller
    setState('running')
    addSuppressions(given, reason.trim(), { onProgress: setAdded, stopped: controller.signal })
      .then(() => setState(controller.signal.aborted ? 'stopped' : 'done'))
      .catch((failure: unknown) => {
        if (!(failure instanceof ApiError)) throw failure
        setError(failure)
        setState('stopped')
      })
      .finally(() => void onDone())
  }
  return { state, added, error, start, stop: () => stop.current?.abort() }
}

const Buttons = ({ run, disabled, onClose }: { run: ReturnType<typeof useImport>; disabled: boolean; onClose(): void }) => (
  <div class="acts end">
    {run.state === 'running' ? (
      <Button text={t.common.stop} onClick={run.stop} />
    ) : (
      <Button text={run.state === 'ready' ? t.common.cancel : t.common.close} onClick={onClose} />
    )}
    {run.state === 'ready' && <Button type="submit" look="main" text={t.suppressions.importButton} disabled={disabled} />}
  </div>
)

function Progress({ added: { done, refused }, of, state }: { added: Added; of: number; state: State }) {
  const save = (): void =>
    download(
      'refused.csv',
      'text/csv',
      exactCsvOf([['line', 'email', 'why'], ...refused.map((row) => [String(row.line), row.address, row.why])]),
    )
  return (
    <>
      <progress max={of} value={done + refused.length} aria-label={t.suppressions.progress} />
      <p role={state === 'running' ? undefined : 'status'}>
        {t.suppressions.imported(number(done), number(of), refused.length)}
        {state === 'stopped' && ` ${t.suppressions.stopped}`}
      </p>
      {refused.length > 0 && state !== 'running' && (
        <>
          <Refused rows={refused} />
          <p>
            <Button look="small" text={t.suppressions.saveRefused} onClick={save} />
          </p>
        </>
      )}
    </>
  )
}
