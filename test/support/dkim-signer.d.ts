declare module 'dkim-signer' {
  const dkimSigner: {
    /** The DKIM-Signature field for a whole message, without a final CRLF. */
    DKIMSign(message: string, options: { domainName: string; keySelector: string; privateKey: string }): string
  }
  export default dkimSigner
}
