const english = {
  title: "Inbox",
  refresh: "Refresh",
  retry: "Try again",
  loading: "Loading…",
  older: "Show older messages",
  unread: "Unread:",
  open: "Open link",
  count: (unread) => (unread === 0 ? "All read" : `${unread} unread`),
  emptyTitle: "No messages yet",
  emptyText: "New messages show up here.",
  signedOutTitle: "This link no longer works",
  signedOutText: "Open your inbox from the app again to get a new one.",
  failedTitle: "Your messages could not be loaded",
  failedText: "Check your connection, then try again.",
  notMarkedTitle: "This message could not be marked as read",
};

const vietnamese = {
  title: "Hộp thư",
  refresh: "Làm mới",
  retry: "Thử lại",
  loading: "Đang tải…",
  older: "Xem tin cũ hơn",
  unread: "Chưa đọc:",
  open: "Mở liên kết",
  count: (unread) => (unread === 0 ? "Đã đọc hết" : `${unread} tin chưa đọc`),
  emptyTitle: "Chưa có tin nào",
  emptyText: "Tin mới sẽ hiện ở đây.",
  signedOutTitle: "Liên kết này không còn dùng được",
  signedOutText: "Hãy mở lại hộp thư từ ứng dụng để nhận liên kết mới.",
  failedTitle: "Không tải được tin của bạn",
  failedText: "Hãy kiểm tra kết nối rồi thử lại.",
  notMarkedTitle: "Không đánh dấu được tin này là đã đọc",
};

const languages = { en: english, vi: vietnamese };

const languageOf = (tag) => tag.slice(0, 2).toLowerCase();

// The first of the reader's languages that there are words for, with its region, so
// that dates are written as the reader writes them.
const locale = navigator.languages.find((tag) => languageOf(tag) in languages) ?? "en";

export const language = languageOf(locale);
export const words = languages[language];

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const date = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const dateAndTime = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "short" });
const steps = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const WEEK = 7 * 86_400;

export function ago(moment) {
  const seconds = Math.max(0, (Date.now() - moment) / 1000);
  if (seconds >= WEEK) return date.format(moment);
  const [unit, length] = steps.find(([, length]) => seconds >= length) ?? ["second", Infinity];
  return relative.format(-Math.floor(seconds / length), unit);
}

export function exactly(moment) {
  return dateAndTime.format(moment);
}
