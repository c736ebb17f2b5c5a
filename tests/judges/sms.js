// Counts texts with Twilio's calculator; a JSON list of texts in, one of facts out.
const { SegmentedMessage } = require("sms-segments-calculator");

const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const facts = texts.map((text) => {
  const message = new SegmentedMessage(text, "auto", false);
  return {
    alphabet: message.encodingName === "UCS-2" ? "ucs2" : "gsm7",
    units: message.messageSize / (message.encodingName === "UCS-2" ? 16 : 7),
    segments: message.segmentsCount,
  };
});
process.stdout.write(JSON.stringify(facts));
