import { useEffect, useState } from 'preact/hooks'
import { ApiError, call } from './api/client.ts'

/** True once it is known that passkeys work at this address of the server, in this browser. */
export function usePasskeysWork(): boolean {
  const [work, setWork] = useState(false)
  useEffect(() => void passkeysWork().then(setWork, () => {}), [])
  return work
}

async function passkeysWork(): Promise<boolean> {
  if (!isSecureContext || typeof PublicKeyCredential?.parseCreationOptionsFromJSON !== 'function') return false
  const { passkey_host: host } = await call<{ passkey_host: string | null }>('/session/state')
  return host === location.hostname
}

/**
 * Makes a passkey on a device of the user's.
 * @throws ApiError `passkey_canceled`, `passkey_known`, and those of the API
 */
export async function makePasskey(password: string, name: string): Promise<void> {
  const { options } = await call<{ options: PublicKeyCredentialCreationOptionsJSON }>('/session/passkeys/options', {
    method: 'POST',
    body: { password },
  })
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await shown(navigator.credentials.create({ publicKey }))
  await call('/session/passkeys', { method: 'POST', body: { name, credential } })
}

/**
 * Has the browser ask for one of the user's passkeys.
 * @throws ApiError `passkey_canceled`, and those of the API
 */
export async function showPasskey(): Promise<unknown> {
  const { options } = await call<{ options: PublicKeyCredentialRequestOptionsJSON }>('/session/passkey/options', { method: 'POST' })
  return shown(navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }))
}

/** What the device answered, as the API takes it. */
async function shown(asked: Promise<Credential | null>): Promise<unknown> {
  try {
    return ((await asked) as PublicKeyCredential).toJSON()
  } catch (error) {
    const name = (error as Error).name === 'InvalidStateError' ? 'passkey_known' : 'passkey_canceled'
    throw new ApiError({ status: 400, name, message: (error as Error).message })
  }
}
