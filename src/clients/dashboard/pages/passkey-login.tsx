import { useEffect, useState } from 'preact/hooks'
import { logInByPasskey } from '../api/client.ts'
import { Fault } from '../parts/answer.tsx'
import { Button, useAction } from '../parts/button.tsx'
import { passkeysWork, showPasskey } from '../show-passkey.ts'
import { t } from '../texts/texts.ts'

/** The button for those who have a passkey; nothing where passkeys cannot work. */
export function PasskeyLogin() {
  const [work, setWork] = useState(false)
  useEffect(() => void passkeysWork().then(setWork, () => {}), [])
  const { busy, error, start } = useAction(async () => logInByPasskey(await showPasskey()))
  if (!work) return null
  const faults: Record<string, string> = { passkey_canceled: t.passkeys.canceled, invalid_credentials: t.passkeys.wrong }
  return (
    <>
      {error && <Fault text={faults[error.code] ?? (error.message || t.offline)} />}
      <Button text={t.passkeys.logIn} busy={busy} onClick={() => start()} />
    </>
  )
}
